// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Schema is the JSON Schema of the document. It is read as far as the platform's own
// schema goes: references, types, members, values, bounds, and branches by the member
// type.
type Schema struct {
	root *schema
	// patterns are the compiled expressions of the schema.
	patterns map[string]*regexp.Regexp
}

// schema is a part of it.
type schema struct {
	Ref                  string                                `json:"$ref"`
	Type                 typeNames                             `json:"type"`
	Properties           map[string]*schema                    `json:"properties"`
	AdditionalProperties *schemaOrBool                         `json:"additionalProperties"`
	PropertyNames        *schema                               `json:"propertyNames"`
	Required             []string                              `json:"required"`
	Items                *schema                               `json:"items"`
	Enum                 []json.RawMessage                     `json:"enum"`
	Const                json.RawMessage                       `json:"const"`
	Default              json.RawMessage                       `json:"default"`
	OneOf                []*schema                             `json:"oneOf"`
	AnyOf                []*schema                             `json:"anyOf"`
	If                   *schema                               `json:"if"`
	Then                 *schema                               `json:"then"`
	AllOf                []*schema                             `json:"allOf"`
	Defs                 map[string]*schema                    `json:"$defs"`
	Definitions          map[string]*schema                    `json:"definitions"`
	Components           *struct{ Schemas map[string]*schema } `json:"components"`
	Pattern              string                                `json:"pattern"`
	Minimum              *float64                              `json:"minimum"`
	Maximum              *float64                              `json:"maximum"`
	MinLength            *int                                  `json:"minLength"`
	MaxLength            *int                                  `json:"maxLength"`
	MinItems             *int                                  `json:"minItems"`
	MaxItems             *int                                  `json:"maxItems"`
	ReadOnly             bool                                  `json:"readOnly"`
}

// typeNames is a name of a type, or a list of them.
type typeNames []string

// UnmarshalJSON reads a text or a list of texts.
func (t *typeNames) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// schemaOrBool is a schema, or a truth that allows anything or nothing.
type schemaOrBool struct {
	allowed bool
	schema  *schema
}

// UnmarshalJSON reads a schema or a truth.
func (s *schemaOrBool) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &s.allowed) == nil {
		return nil
	}
	s.allowed = true
	return json.Unmarshal(text, &s.schema)
}

// ParseSchema reads a JSON Schema.
func ParseSchema(text []byte) (*Schema, error) {
	s := &Schema{root: &schema{}, patterns: map[string]*regexp.Regexp{}}
	if err := json.Unmarshal(text, s.root); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return s, nil
}

// maxReferences bounds a chain of references.
const maxReferences = 20

// resolve follows references; nil: it leads nowhere.
func (s *Schema) resolve(part *schema) *schema {
	for range maxReferences {
		if part == nil || part.Ref == "" {
			return part
		}
		part = s.referenced(part.Ref)
	}
	return nil
}

// referenced returns the definition of a reference within the document.
func (s *Schema) referenced(ref string) *schema {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	switch {
	case strings.HasPrefix(ref, "#/$defs/"):
		return s.root.Defs[name]
	case strings.HasPrefix(ref, "#/definitions/"):
		return s.root.Definitions[name]
	case strings.HasPrefix(ref, "#/components/schemas/") && s.root.Components != nil:
		return s.root.Components.Schemas[name]
	}
	return nil
}

// pattern compiles an expression; nil for one that Go does not have.
func (s *Schema) pattern(text string) *regexp.Regexp {
	compiled, ok := s.patterns[text]
	if !ok {
		compiled, _ = regexp.Compile(text)
		s.patterns[text] = compiled
	}
	return compiled
}

// resource returns the schema of the resources of a section, nil when the schema does not
// have it. Rules are those of a check.
func (s *Schema) resource(section string) *schema {
	if s == nil {
		return nil
	}
	holder := s.root
	if section == rulesSection {
		holder = s.resource(checksSection)
	}
	holder = s.resolve(holder)
	if holder == nil {
		return nil
	}
	list := s.resolve(holder.Properties[section])
	if list == nil || list.AdditionalProperties == nil {
		return nil
	}
	return s.resolve(list.AdditionalProperties.schema)
}

// members returns the members of a resource that a file may have, with their defaults;
// nil when the schema does not say.
func (s *Schema) members(section string) map[string]json.RawMessage {
	resource := s.resource(section)
	if resource == nil || len(resource.Properties) == 0 {
		return nil
	}
	members := map[string]json.RawMessage{}
	for name, part := range resource.Properties {
		if part = s.resolve(part); part == nil || !part.ReadOnly {
			members[name] = nil
			if part != nil {
				members[name] = part.Default
			}
		}
	}
	return members
}
