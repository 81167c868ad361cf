// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// api is what both languages are written from.
type api struct {
	schemas    []schema
	operations []operation
}

// schema is an object with members. With options, it is one of them besides.
type schema struct {
	name, doc string
	members   []member
	options   []*shape // the objects that `oneOf` names, each with members of its own
}

type member struct {
	name, doc string
	shape     *shape
	required  bool
}

// shape is the type of a value: one of its fields is set. None is any value.
type shape struct {
	ref    string   // the name of a schema
	plain  string   // string, integer, number, boolean or null
	values []string // the strings that are allowed
	items  *shape   // of a list
	fields *shape   // the values of an object with names of any kind
	union  []*shape
}

// operation is a method of the clients.
type operation struct {
	id, method, path string
	doc              string
	params           []string // in the path, in its order
	query            []member
	body             *shape
	bodyRequired     bool
	row              *shape // of a list that has pages
	data             *shape // of an answer with one resource; nil without a body
	text             bool   // the answer is text
	keyed            bool   // takes an Idempotency-Key
	revised          bool   // takes If-Match
}

// paging are parameters of lists that the iterators send themselves.
var paging = []string{"offset", "cursor"}

func read(path string) (*api, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a := &api{}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		a.schemas = append(a.schemas, newSchema(name, doc.Components.Schemas[name].Value))
	}
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			if o := newOperation(method, path, item.Operations()[method], doc); o.id != "streamAlerts" {
				a.operations = append(a.operations, o)
			}
		}
	}
	slices.SortFunc(a.operations, func(x, y operation) int { return strings.Compare(x.id, y.id) })
	return a, nil
}

func newSchema(name string, s *openapi3.Schema) schema {
	made := schema{name: schemaName(name), doc: s.Description}
	inOptions := map[string]bool{}
	for _, option := range s.OneOf {
		made.options = append(made.options, newShape(option))
		for name := range option.Value.Properties {
			inOptions[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		// What a request may repeat from an answer, and is ignored.
		if v := property.Value; v.ReadOnly && property.Ref == "" && v.Type == nil && len(v.AnyOf) == 0 || inOptions[name] {
			continue
		}
		made.members = append(made.members, member{
			name: name, doc: property.Value.Description, shape: newShape(property), required: slices.Contains(s.Required, name),
		})
	}
	return made
}

// schemaName keeps the name of a class that both languages have free.
func schemaName(name string) string {
	if name == "Error" {
		return "ErrorBody"
	}
	return name
}

func newShape(ref *openapi3.SchemaRef) *shape {
	if ref == nil || ref.Value == nil {
		return &shape{}
	}
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		return &shape{ref: schemaName(name)}
	}
	s := ref.Value
	var of []*shape
	for _, option := range slices.Concat(s.AnyOf, s.OneOf) {
		of = append(of, newShape(option))
	}
	for _, kind := range s.Type.Slice() {
		if len(of) > 0 && kind == "object" {
			continue // what the options say already
		}
		of = append(of, newKind(kind, s))
	}
	switch len(of) {
	case 0:
		return &shape{}
	case 1:
		return of[0]
	}
	return &shape{union: of}
}

func newKind(kind string, s *openapi3.Schema) *shape {
	switch kind {
	case "array":
		return &shape{items: newShape(s.Items)}
	case "object":
		return &shape{fields: newShape(s.AdditionalProperties.Schema)}
	case "string":
		made := &shape{}
		for _, value := range s.Enum {
			if text, ok := value.(string); ok {
				made.values = append(made.values, text)
			}
		}
		if len(made.values) > 0 {
			return made
		}
	}
	return &shape{plain: kind}
}

func newOperation(method, path string, o *openapi3.Operation, doc *openapi3.T) operation {
	made := operation{id: camel(o.OperationID), method: method, path: path, doc: o.Summary}
	if o.Description != "" {
		made.doc += ".\n" + o.Description
	}
	pages := false
	for _, ref := range o.Parameters {
		p := ref.Value
		switch {
		case p.In == "path":
			made.params = append(made.params, p.Name)
		case p.In == "query" && slices.Contains(paging, p.Name):
			pages = true
		case p.In == "query":
			made.query = append(made.query, member{name: p.Name, doc: p.Description, shape: newShape(p.Schema), required: p.Required})
		case p.In == "header" && p.Name == "Idempotency-Key":
			made.keyed = true
		case p.In == "header" && p.Name == "If-Match":
			made.revised = true
		}
	}
	slices.SortFunc(made.params, func(x, y string) int { return strings.Index(path, "{"+x+"}") - strings.Index(path, "{"+y+"}") })
	if o.RequestBody != nil {
		made.body = newShape(o.RequestBody.Value.Content.Get("application/json").Schema)
		made.bodyRequired = o.RequestBody.Value.Required
	}
	for status, response := range o.Responses.Map() {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if response.Value.Content["text/plain"] != nil {
			made.text = true
		}
		content := response.Value.Content["application/json"]
		if content == nil {
			continue
		}
		// Every answer is {data} or {data, meta}: the clients return what is in data.
		data := content.Schema.Value.Properties["data"]
		if pages {
			made.row = newShape(data.Value.Items)
		} else {
			made.data = newShape(data)
		}
	}
	return made
}

// camel makes create-check createCheck.
func camel(id string) string {
	parts := strings.Split(id, "-")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
	}
	return strings.Join(parts, "")
}

// snake makes createCheck create_check, and ruleID rule_id.
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z') {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToLower(out.String())
}

// wrapped breaks a text into lines of at most width characters.
func wrapped(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				lines = append(lines, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
