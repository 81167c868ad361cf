// SPDX-License-Identifier: Apache-2.0

package provider

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// definitionsFile holds the schemas of api/openapi.yaml that the provider needs. A test
// compares them; to renew: go test ./provider -run TestDefinitions -update.
//
//go:embed definitions.json
var definitionsFile []byte

// definition is a schema of the OpenAPI document.
type definition struct {
	Ref         string                 `json:"$ref,omitempty"`
	Type        any                    `json:"type,omitempty"` // a text, or a list of texts with null
	Description string                 `json:"description,omitempty"`
	Format      string                 `json:"format,omitempty"`
	Default     any                    `json:"default,omitempty"`
	Enum        []any                  `json:"enum,omitempty"`
	ReadOnly    bool                   `json:"readOnly,omitempty"`
	WriteOnly   bool                   `json:"writeOnly,omitempty"`
	Required    []string               `json:"required,omitempty"`
	Properties  map[string]*definition `json:"properties,omitempty"`
	Items       *definition            `json:"items,omitempty"`
	Values      *definition            `json:"additionalProperties,omitempty"` // of a map
	AnyOf       []*definition          `json:"anyOf,omitempty"`
	OneOf       []*definition          `json:"oneOf,omitempty"`
	Alternative *alternatives          `json:"discriminator,omitempty"`
}

// alternatives maps the values of the member "type" to schemas with a member "config".
type alternatives struct {
	Mapping map[string]string `json:"mapping"`
}

// schemas returns the embedded schemas by name. They are read once.
var schemas = sync.OnceValue(func() map[string]*definition { //nolint:gochecknoglobals // read once
	read := map[string]*definition{}
	if err := json.Unmarshal(definitionsFile, &read); err != nil {
		panic(fmt.Sprintf("definitions.json: %v", err))
	}
	return read
})

// schemaName returns the name at the end of a reference.
func schemaName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// resolve follows a reference; a schema that may also be null is the schema. The name is
// that of the schema in the document, or "". What the reference itself says, such as its
// description, wins.
func (d *definition) resolve() (name string, resolved *definition) {
	ref := d.Ref
	for _, one := range append(append([]*definition{}, d.AnyOf...), d.OneOf...) {
		if ref == "" && one.Ref != "" && d.Alternative == nil {
			ref = one.Ref
		}
	}
	if ref == "" {
		return "", d
	}
	name = schemaName(ref)
	found, ok := schemas()[name]
	if !ok {
		panic("definitions.json has no schema " + name)
	}
	out := *found
	if d.Description != "" {
		out.Description = d.Description
	}
	return name, &out
}

// kind returns the type of a schema without null, such as "string".
func (d *definition) kind() string {
	switch t := d.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if text, ok := one.(string); ok && text != "null" {
				return text
			}
		}
	}
	return ""
}

// nullable reports whether null is a value of the member.
func (d *definition) nullable() bool {
	types, _ := d.Type.([]any)
	return slices.Contains(types, any("null")) ||
		slices.ContainsFunc(d.AnyOf, func(one *definition) bool { return one.Type == "null" })
}
