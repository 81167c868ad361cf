// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// form is the form of a value.
type form int

const (
	formText form = iota
	formScalar
	formInteger
	formNumber
	formBoolean
	formList
	formSet
	formMap
	formObject
)

// secretPart says which of the attributes of a secret a field is.
type secretPart int

const (
	notSecret     secretPart = iota
	secretInState            // sensitive, and kept in the state
	secretHidden             // write-only, never in the state
	secretVersion            // a number; a new one sends the write-only value again
)

// field is a member of the API as an attribute of Terraform. The whole mapping between
// the two is made from fields.
type field struct {
	Name string // in Terraform
	JSON string // in the API, of the object that has it
	Form form
	Doc  string

	Required bool
	Computed bool // the API decides, unless Default or Kept say otherwise
	Kept     bool // absent in the configuration: it stays as it is
	Blank    bool // the API shows an empty text when it is absent
	Replace  bool // another value needs another object
	// Default is what the absence of the member means to the API; nil: not known.
	Default  any
	Nullable bool // null removes it
	Instant  bool // a time: written differently it is still the same
	Secret   secretPart
	Private  bool   // sensitive, although the API shows it
	Of       string // of a secret: the name without _wo and _wo_version

	Elem    *field   // of lists, sets and maps
	Members []*field // of objects, by name

	// Type is a value of the API's member "type": such a field is the member "config" of
	// the objects of that type, as a nested attribute.
	Type string
}

// adjustment changes what the document says of a member, where Terraform needs more.
type adjustment struct {
	Skip    bool
	Name    string // another name
	Set     bool   // the order has no meaning
	Default any
	Scalar  bool // a text, a number or a boolean: a text in Terraform
	Union   string
	Private bool
}

// adjustments are by schema and member.
func adjustments() map[string]adjustment {
	return map[string]adjustment{
		"Assertion.target":                         {Scalar: true},
		"HTTPConfig.expected_status_codes":         {Scalar: true},
		"Check.ping_url":                           {Private: true},
		"Step.type":                                {Skip: true},
		"Step.config":                              {Union: "CheckCreate"},
		"AlertRuleCreate.condition_type":           {Skip: true},
		"AlertRuleCreate.threshold":                {Skip: true},
		"AlertRuleCreate.notification_channel_ids": {Name: "channel_ids", Set: true},
		"AlertRule.notification_channel_ids":       {Name: "channel_ids", Set: true},
		"Condition.severity":                       {Default: "critical"},
		"Condition.dns_changed":                    {Default: false},
		"Condition.recovery_threshold":             {Default: 1},
		"MaintenanceScope.all":                     {Default: false},
		"MaintenanceScope.check_ids":               {Set: true},
		"SubscriptionCreate.events":                {Set: true},
		"Subscription.events":                      {Set: true},
		"SubscriptionSelector.check_ids":           {Set: true},
		"SubscriptionSelector.labels":              {Set: true},
		"KeyRequest.scopes":                        {Set: true},
	}
}

// fieldsOf returns the members of a schema of the document, by name.
func fieldsOf(schema string) []*field {
	_, d := (&definition{Ref: schema}).resolve()
	return members(schema, d)
}

func members(schema string, d *definition) []*field {
	var fields []*field
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		property := d.Properties[name]
		if property.ReadOnly {
			continue
		}
		change := adjustments()[schema+"."+name]
		switch {
		case change.Skip:
			continue
		case change.Union != "":
			fields = append(fields, alternativesOf(change.Union, "multistep", "heartbeat")...)
			continue
		}
		one := fieldOf(name, property, change)
		one.Required = slices.Contains(d.Required, name)
		fields = append(fields, withSecrets(one, property)...)
	}
	return fields
}

// fieldOf makes a field from a property.
func fieldOf(name string, d *definition, change adjustment) *field {
	nullable := d.nullable()
	schema, d := d.resolve()
	f := &field{Name: name, JSON: name, Doc: describe(d), Default: d.Default, Instant: d.Format == "date-time", Private: change.Private}
	f.Nullable = nullable || d.nullable()
	if change.Name != "" {
		f.Name = change.Name
	}
	if change.Default != nil {
		f.Default = change.Default
	}
	switch kind := d.kind(); {
	case kind == "integer":
		f.Form = formInteger
	case kind == "number":
		f.Form = formNumber
	case kind == "boolean":
		f.Form = formBoolean
	case kind == "array":
		f.Form = formList
		if change.Set {
			f.Form = formSet
		}
		f.Elem = elementOf(d.Items, change.Scalar)
		f.Default = orEmpty(f.Default, []any{})
	case kind == "object" && d.Values != nil && len(d.Properties) == 0:
		f.Form, f.Elem = formMap, elementOf(d.Values, false)
		f.Default = orEmpty(f.Default, map[string]any{})
	case kind == "object":
		f.Form, f.Members = formObject, members(schema, d)
	case change.Scalar:
		f.Form = formScalar
	default:
		f.Default = orEmpty(f.Default, "")
	}
	return f
}

// elementOf returns the field of the items of a list, or of the values of a map: an empty
// one is not absent.
func elementOf(d *definition, scalar bool) *field {
	f := fieldOf("", d, adjustment{Scalar: scalar})
	f.Default = nil
	return f
}

func orEmpty(given, empty any) any {
	if given == nil {
		return empty
	}
	return given
}

// alternativesOf returns a nested attribute for each type of a schema, without those that are excepted:
// a step of a multistep check has no steps, and is no heartbeat.
func alternativesOf(schema string, except ...string) []*field {
	d := schemas()[schema]
	var fields []*field
	for _, kind := range slices.Sorted(maps.Keys(d.Alternative.Mapping)) {
		if !slices.Contains(except, kind) {
			fields = append(fields, alternative(kind, d.Alternative.Mapping[kind]))
		}
	}
	return fields
}

// alternative returns the nested attribute of one type.
func alternative(kind, ref string) *field {
	_, d := (&definition{Ref: ref}).resolve()
	f := fieldOf(strings.ReplaceAll(kind, "-", "_"), d.Properties["config"], adjustment{})
	f.JSON, f.Type = "config", kind
	f.Doc = "The config of the type `" + kind + "`. One of the types is given."
	return f
}

// withSecrets replaces a secret by its three attributes, and headers by theirs and those
// of the secret ones.
func withSecrets(f *field, d *definition) []*field {
	base := f.Name
	switch {
	case d.WriteOnly:
		f.Secret, f.Of, f.Required = secretInState, base, false
		return append([]*field{f}, hidden(f, base)...)
	case f.Form == formMap && base == "headers":
		kept := *f
		kept.Name, kept.Secret, kept.Of = "secret_headers", secretInState, "secret_headers"
		kept.Doc = "Headers with credentials: sent together with `headers`, and sensitive."
		return append([]*field{f, &kept}, hidden(&kept, kept.Name)...)
	}
	return []*field{f}
}

// hidden returns the write-only attribute of a secret and that of its version.
func hidden(f *field, base string) []*field {
	value := *f
	value.Name, value.Secret = base+"_wo", secretHidden
	value.Doc = strings.TrimSuffix(f.Doc, ".") + ". Write-only: it is never in the state, and it is sent again " +
		"only when `" + base + "_wo_version` changes."
	version := field{
		Name: base + "_wo_version", Form: formInteger, Secret: secretVersion, Of: base, JSON: f.JSON,
		Doc: "A number for the value of `" + base + "_wo`: change it to send the value again.",
	}
	return []*field{&value, &version}
}

// describe returns the text of a member: its description, its values and its default.
func describe(d *definition) string {
	text := strings.TrimSuffix(d.Description, ".")
	var values []string
	for _, one := range d.Enum {
		values = append(values, "`"+plain(one)+"`")
	}
	for _, part := range []string{list(values, "One of "), plainDefault(d)} {
		if part != "" {
			text = strings.TrimPrefix(text+". "+part, ". ")
		}
	}
	if text == "" {
		return ""
	}
	return text + "."
}

func list(values []string, before string) string {
	if len(values) == 0 {
		return ""
	}
	return before + strings.Join(values, ", ")
}

func plainDefault(d *definition) string {
	if d.Default == nil {
		return ""
	}
	if all, ok := d.Default.([]any); ok {
		var texts []string
		for _, one := range all {
			texts = append(texts, "`"+plain(one)+"`")
		}
		return list(texts, "Default: ")
	}
	return "Default: `" + plain(d.Default) + "`"
}

// member returns the member with a name of Terraform, or nil.
func (f *field) member(name string) *field {
	for _, one := range f.Members {
		if one.Name == name {
			return one
		}
	}
	return nil
}

// tfType returns the type of the field's values.
func (f *field) tfType() tftypes.Type {
	switch f.Form {
	case formInteger, formNumber:
		return tftypes.Number
	case formBoolean:
		return tftypes.Bool
	case formList:
		return tftypes.List{ElementType: f.Elem.tfType()}
	case formSet:
		return tftypes.Set{ElementType: f.Elem.tfType()}
	case formMap:
		return tftypes.Map{ElementType: f.Elem.tfType()}
	case formObject:
		types := make(map[string]tftypes.Type, len(f.Members))
		for _, one := range f.Members {
			types[one.Name] = one.tfType()
		}
		return tftypes.Object{AttributeTypes: types}
	case formText, formScalar:
	}
	return tftypes.String
}
