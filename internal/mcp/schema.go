// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// schemas are the parts of the OpenAPI document that tools show.
type schemas struct {
	document   []byte
	files      []byte            // the schema of the files of monitoring as code
	components object            // schemas by name
	operations map[string]object // by operationId
}

// Paths of the documents of the API.
const (
	documentPath = "/openapi.json"
	filesPath    = "/v1/schemas/vigil.json"
)

// readDocument asks the API for a document that needs no credential.
func readDocument(api http.Handler, path string) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, "http://api"+path, http.NoBody) //nolint:noctx // answered in this process
	if err != nil {
		return nil, err
	}
	request.RemoteAddr = "127.0.0.1:0"
	request.Host = "localhost"
	response, err := client.InProcess(api, nil).Do(request)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// newSchemas reads the OpenAPI document, and takes the schema of the files as it is.
func newSchemas(document, files []byte) (*schemas, error) {
	var doc struct {
		Components struct {
			Schemas object `json:"schemas"`
		} `json:"components"`
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	s := &schemas{document: document, files: files, components: doc.Components.Schemas, operations: make(map[string]object)}
	for path, item := range doc.Paths {
		for method, raw := range item {
			var operation object
			if json.Unmarshal(raw, &operation) != nil {
				continue
			}
			if id, ok := operation["operationId"].(string); ok {
				operation["path"], operation["method"] = path, strings.ToUpper(method)
				s.operations[id] = operation
			}
		}
	}
	return s, nil
}

// refPrefix begins the references to components.
const refPrefix = "#/components/schemas/"

// inline returns a schema without references. Read-only members, examples and defaults are
// left out: a default that is filled in would overwrite what a check has.
func (s *schemas) inline(schema any) any {
	switch v := schema.(type) {
	case object:
		return s.inlineObject(v)
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, s.inline(item))
		}
		return out
	}
	return schema
}

func (s *schemas) inlineObject(v object) object {
	if ref, ok := v["$ref"].(string); ok {
		target, _ := s.components[strings.TrimPrefix(ref, refPrefix)].(object)
		out := s.inlineObject(target)
		if text, ok := v["description"]; ok {
			out["description"] = text
		}
		return out
	}
	out := make(object, len(v))
	for name, value := range v {
		switch name {
		case "example", "examples", "default", "$schema", "writeOnly", "additionalProperties":
			if extra, ok := value.(object); ok && name == "additionalProperties" {
				out[name] = s.inline(extra)
			}
		case "format":
			if value == "uuid" || value == "date-time" {
				out[name] = value
			}
		case "properties":
			out[name] = s.writable(value)
		default:
			if !strings.HasPrefix(name, "x-") {
				out[name] = s.inline(value)
			}
		}
	}
	return out
}

// writable returns the members of an object that a caller may send.
func (s *schemas) writable(properties any) object {
	members, _ := properties.(object)
	out := make(object, len(members))
	for name, member := range members {
		if m, ok := member.(object); ok && m["readOnly"] == true {
			continue
		}
		out[name] = s.inline(member)
	}
	return out
}

// members collects the members of a tool's input.
type members struct {
	of       *schemas
	found    object
	required []string
	missing  []string
}

func (s *schemas) members() *members { return &members{of: s, found: make(object)} }

// component takes members of a component.
func (m *members) component(component string, names ...string) *members {
	schema, _ := m.of.components[component].(object)
	properties, _ := schema["properties"].(object)
	for _, name := range names {
		member, ok := properties[name]
		m.take(component, name, member, ok)
	}
	return m
}

// query takes parameters of an operation.
func (m *members) query(operation string, names ...string) *members {
	parameters, _ := m.of.operations[operation]["parameters"].([]any)
	for _, name := range names {
		at := slices.IndexFunc(parameters, func(p any) bool {
			parameter, _ := p.(object)
			return parameter["name"] == name
		})
		if at < 0 {
			m.take(operation, name, nil, false)
			continue
		}
		parameter, _ := parameters[at].(object)
		m.take(operation, name, parameter["schema"], true)
	}
	return m
}

func (m *members) take(from, name string, schema any, ok bool) {
	if !ok {
		m.missing = append(m.missing, from+"."+name)
		return
	}
	m.found[name] = m.of.inline(schema)
}

// own declares a member that only the tool has.
func (m *members) own(name string, schema object) *members {
	m.found[name] = schema
	return m
}

// open makes a member an object whose form describe returns.
func (m *members) open(name, description string) *members {
	return m.own(name, object{"type": "object", "description": description})
}

// require names members that must be given.
func (m *members) require(names ...string) *members {
	m.required = append(m.required, names...)
	return m
}

// schema returns the schema of the input.
func (m *members) schema() (object, error) {
	if len(m.missing) > 0 {
		return nil, fmt.Errorf("mcp: the OpenAPI document lacks %s", strings.Join(m.missing, ", "))
	}
	out := object{"type": "object", "properties": m.found, "additionalProperties": false}
	if len(m.required) > 0 {
		out["required"] = m.required
	}
	return out, nil
}

// text is the schema of a text.
func text(description string) object { return object{"type": "string", "description": description} }

// oneOf is the schema of a text out of a few.
func oneOf(description string, values ...string) object {
	return object{"type": "string", "description": description, "enum": values}
}

// textList is the schema of a list of texts.
func textList(description string, most int) object {
	return object{"type": "array", "items": object{"type": "string"}, "maxItems": most, "description": description}
}

// number is the schema of a whole number.
func number(description string, least, most int) object {
	return object{"type": "integer", "minimum": least, "maximum": most, "description": description}
}

// flag is the schema of a yes or no.
func flag(description string) object { return object{"type": "boolean", "description": description} }

// instant is the schema of a time.
func instant(description string) object {
	return object{"type": "string", "format": "date-time", "description": description}
}
