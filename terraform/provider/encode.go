// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// secretMask stands for a secret in the answers of the API; sent back, it keeps the secret.
const secretMask = "***"

// sources are the values that a body is made of, at the same place of the schema.
type sources struct {
	plan   tftypes.Value
	config tftypes.Value // has the write-only values, which no plan has
	state  tftypes.Value // before the change; absent for a new object
}

func (s sources) member(name string) sources {
	return sources{plan: partsOf(s.plan)[name], config: partsOf(s.config)[name], state: partsOf(s.state)[name]}
}

// item returns the sources of an item of a list. What has a name keeps its secrets by
// the name, as in the API.
func (s sources) item(i int) sources {
	out := sources{plan: itemsOf(s.plan)[i]}
	if items := itemsOf(s.config); i < len(items) {
		out.config = items[i]
	}
	name, named := partsOf(out.plan)["name"]
	for j, before := range itemsOf(s.state) {
		if named && partsOf(before)["name"].Equal(name) || !named && i == j {
			out.state = before
		}
	}
	return out
}

// encode returns a value for the API, and whether there is one.
func (f *field) encode(from sources) (any, bool) {
	if !known(from.plan) {
		return nil, false
	}
	switch f.Form {
	case formScalar:
		return scalar(textOf(from.plan)), true
	case formInteger, formNumber:
		n := new(big.Float)
		must(from.plan.As(n))
		return json.Number(n.Text('f', -1)), true
	case formBoolean:
		var b bool
		must(from.plan.As(&b))
		return b, true
	case formList, formSet:
		all := []any{}
		for i := range itemsOf(from.plan) {
			one, _ := f.Elem.encode(from.item(i))
			all = append(all, one)
		}
		return all, true
	case formMap:
		all := map[string]any{}
		for name := range partsOf(from.plan) {
			all[name], _ = f.Elem.encode(sources{plan: partsOf(from.plan)[name]})
		}
		return all, true
	case formObject:
		body := map[string]any{}
		f.encodeMembers(body, from)
		return body, true
	case formText:
	}
	return textOf(from.plan), true
}

// encodeMembers adds the members of an object to a body.
func (f *field) encodeMembers(body map[string]any, from sources) {
	for _, one := range f.Members {
		at := from.member(one.Name)
		switch one.Secret {
		case secretVersion:
			continue
		case secretHidden:
			at.plan = at.config
		case notSecret, secretInState:
		}
		value, ok := one.encode(at)
		if !ok {
			continue
		}
		if one.Type != "" {
			body["type"] = one.Type
		}
		version := one.Of + "_wo_version"
		if one.Secret == secretHidden && sameVersion(from.member(version)) {
			value = masked(value)
		}
		if before, both := body[one.JSON].(map[string]any); both { // headers and secret headers
			for name, v := range value.(map[string]any) {
				before[name] = v
			}
			continue
		}
		body[one.JSON] = value
	}
}

// sameVersion reports whether the version of a write-only value stays as it is.
func sameVersion(version sources) bool {
	return known(version.plan) && version.state.Type() != nil && version.plan.Equal(version.state)
}

// masked replaces a secret, or those of a map, so that the API keeps them.
func masked(value any) any {
	all, ok := value.(map[string]any)
	if !ok {
		return secretMask
	}
	out := make(map[string]any, len(all))
	for name := range all {
		out[name] = secretMask
	}
	return out
}
