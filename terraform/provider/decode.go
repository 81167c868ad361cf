// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// reading says how an answer of the API becomes values.
type reading struct {
	// Import takes defaults as the API shows them; otherwise what was absent stays absent
	// while the API has the default.
	Import bool
}

// decode returns the value of Terraform for one of the API. Prior is the value before, or
// the planned one: where the API says the same in another form, it stays.
func (f *field) decode(r reading, got any, prior tftypes.Value) tftypes.Value {
	if prior.Type() == nil || !prior.IsKnown() {
		prior = f.null()
	}
	if got == nil {
		if f.isDefault(prior) {
			return prior
		}
		return f.null()
	}
	if (!r.Import || f.Form == formObject || f.Blank) && !f.Computed && !f.Required && prior.IsNull() && f.meansDefault(got) {
		return prior
	}
	switch f.Form {
	case formInteger, formNumber:
		return f.decodeNumber(got, prior)
	case formBoolean:
		return tftypes.NewValue(tftypes.Bool, got)
	case formList, formSet:
		return f.decodeList(r, got, prior)
	case formMap:
		parts := map[string]tftypes.Value{}
		all, _ := got.(map[string]any)
		for name, value := range all {
			parts[name] = f.Elem.decode(r, value, partsOf(prior)[name])
		}
		return tftypes.NewValue(f.tfType(), parts)
	case formObject:
		all, _ := got.(map[string]any)
		return tftypes.NewValue(f.tfType(), f.decodeMembers(r, all, prior))
	case formText, formScalar:
	}
	if f.Instant && !prior.IsNull() && sameInstant(textOf(prior), plain(got)) {
		return prior
	}
	if !prior.IsNull() && (f.JSON == "name" || f.JSON == "title") { // the API removes space around them
		if strings.TrimSpace(textOf(prior)) == got {
			return prior
		}
	}
	if masked, isText := got.(string); isText && !prior.IsNull() && shownAs(textOf(prior), masked) {
		return prior
	}
	return text(plain(got))
}

// shownAs reports whether an answer of the API stands for a text that the state knows: where
// it is a secret, or an address in whose query the API masks values, each up to the next "&".
func shownAs(known, answer string) bool {
	if answer == secretMask {
		return true
	}
	const masked = "=" + secretMask
	if !strings.Contains(answer, masked) {
		return false
	}
	form := strings.ReplaceAll(regexp.QuoteMeta(answer), regexp.QuoteMeta(masked), "=[^&]+")
	return regexp.MustCompile("^" + form + "$").MatchString(known)
}

func (f *field) decodeNumber(got any, prior tftypes.Value) tftypes.Value {
	n, ok := number(got)
	if !ok {
		return f.null()
	}
	if same, _ := f.encode(sources{plan: prior}); same != nil {
		before, _ := number(same)
		x, _ := n.Float64()
		if y, _ := before.Float64(); x == y {
			return prior
		}
	}
	return tftypes.NewValue(tftypes.Number, n)
}

func (f *field) decodeList(r reading, got any, prior tftypes.Value) tftypes.Value {
	all, _ := got.([]any)
	items := make([]tftypes.Value, 0, len(all))
	for i, one := range all {
		items = append(items, f.Elem.decode(r, one, f.priorItem(prior, i, one)))
	}
	return tftypes.NewValue(f.tfType(), items)
}

// priorItem returns the item of a list that was the same before: that of the same name,
// or at the same place.
func (f *field) priorItem(prior tftypes.Value, i int, got any) tftypes.Value {
	members, _ := got.(map[string]any)
	name, named := members["name"].(string)
	for j, one := range itemsOf(prior) {
		if named && textOf(partsOf(one)["name"]) == name || !named && i == j {
			return one
		}
	}
	return f.Elem.null()
}

// decodeMembers returns the values of the members of an object.
func (f *field) decodeMembers(r reading, got map[string]any, prior tftypes.Value) map[string]tftypes.Value {
	before, parts := partsOf(prior), map[string]tftypes.Value{}
	for _, one := range f.Members {
		value := got[one.JSON]
		switch {
		case one.Type != "" && one.Type != got["type"]:
			parts[one.Name] = one.null()
		case one.Secret == secretHidden:
			parts[one.Name] = one.null()
		case one.Secret == secretVersion:
			parts[one.Name] = one.null()
			if kept := before[one.Name]; value != nil && known(kept) {
				parts[one.Name] = kept
			}
		case one.Form == formMap && f.member("secret_"+one.Name) != nil:
			parts[one.Name] = one.decode(r, plainHeaders(value, before, one.Name), before[one.Name])
		case one.Secret == secretInState:
			parts[one.Name] = one.decodeSecret(value, before[one.Name])
		default:
			parts[one.Name] = one.decode(r, value, before[one.Name])
		}
	}
	return parts
}

// decodeSecret keeps what the state knows of a secret that the API has.
func (f *field) decodeSecret(got any, prior tftypes.Value) tftypes.Value {
	if !known(prior) {
		return f.null()
	}
	headers, ok := got.(map[string]any)
	if f.Form != formMap {
		if got == nil {
			return f.null()
		}
		return prior
	}
	kept := map[string]tftypes.Value{}
	for name, value := range partsOf(prior) {
		switch now, has := headers[name]; {
		case ok && has && now == secretMask:
			kept[name] = value
		case ok && has:
			kept[name] = text(plain(now))
		}
	}
	return tftypes.NewValue(f.tfType(), kept)
}

// plainHeaders returns the headers of an answer that are not secret headers of the state,
// with the values that the state knows for masked ones. While write-only headers are set,
// the API's headers that the state does not know are taken for those.
func plainHeaders(got any, before map[string]tftypes.Value, name string) any {
	headers, ok := got.(map[string]any)
	if !ok {
		return nil
	}
	secret, plainly := partsOf(before["secret_"+name]), partsOf(before[name])
	hasHidden := known(before["secret_"+name+"_wo_version"])
	out := map[string]any{}
	for header, value := range headers {
		prior, mine := plainly[header]
		switch _, isSecret := secret[header]; {
		case isSecret, !mine && (hasHidden || value == secretMask):
		case value == secretMask:
			out[header] = textOf(prior)
		default:
			out[header] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// hasDefault reports whether the absence of an object means an empty one: all of its
// members have defaults.
func (f *field) hasDefault() bool {
	return f.Form == formObject && !slices.ContainsFunc(f.Members, func(one *field) bool {
		return one.Default == nil || one.Required || one.Secret != notSecret
	})
}

// isDefault reports whether a value is what the absence of the member means.
func (f *field) isDefault(v tftypes.Value) bool {
	if !known(v) {
		return false
	}
	value, _ := f.encode(sources{plan: v})
	return f.meansDefault(value)
}

// meansDefault is isDefault for a value of the API.
func (f *field) meansDefault(value any) bool {
	if f.Form == formObject {
		members, _ := value.(map[string]any)
		return f.hasDefault() && !slices.ContainsFunc(f.Members, func(one *field) bool {
			got, has := members[one.JSON]
			return has && !one.meansDefault(got)
		})
	}
	if f.Default == nil {
		return false
	}
	if a, isNumber := number(f.Default); isNumber && (f.Form == formInteger || f.Form == formNumber) {
		b, ok := number(value)
		return ok && a.Cmp(b) == 0
	}
	return reflect.DeepEqual(value, f.Default)
}
