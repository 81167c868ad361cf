// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// ExtensionNullable marks the schema of a member that null empties and that Huma cannot call
// nullable, because it refers to an object. The document says it in its own way.
const ExtensionNullable = "x-nullable"

// NotNull is what is wrong with a member that is null.
const NotNull = "must not be null; leave it out instead"

// MayBeNull reports whether a schema allows null.
func MayBeNull(s *huma.Schema) bool {
	open := s.Type == "" && s.Ref == "" && s.OneOf == nil && s.AnyOf == nil && s.AllOf == nil
	return s.Nullable || open || s.ReadOnly || s.Extensions[ExtensionNullable] == true
}

// nullMembers returns the members of a body that are null although their schemas do not say so.
// Huma takes null for the absence of a member that may be left out, so a mistake in a program,
// such as a value that it failed to read, would look like a request for the default. Members that
// are required are left to Huma.
func nullMembers(registry huma.Registry, op *huma.Operation, body []byte) []problem {
	if op.RequestBody == nil || !bytes.Contains(body, []byte("null")) {
		return nil
	}
	content := op.RequestBody.Content["application/json"]
	if content == nil || content.Schema == nil {
		return nil
	}
	var tree any
	if err := json.Unmarshal(body, &tree); err != nil {
		return nil // Huma reports it
	}
	n := nulls{registry: registry}
	n.find(content.Schema, tree, "")
	return n.found
}

// nulls finds members that are null.
type nulls struct {
	registry huma.Registry
	found    []problem
}

func (n *nulls) find(schema *huma.Schema, value any, path string) {
	if schema != nil && schema.Ref != "" {
		schema = n.registry.SchemaFromRef(schema.Ref)
	}
	if schema == nil || len(n.found) >= maxProblems {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			member := schema.Properties[name]
			switch at := path + name; {
			case member == nil:
			case value[name] != nil:
				n.find(member, value[name], at+".")
			case !slices.Contains(schema.Required, name) && !MayBeNull(member):
				n.found = append(n.found, problem{in: "body", Member: at, Message: NotNull})
			}
		}
	case []any:
		for i, item := range value {
			n.find(schema.Items, item, path[:max(len(path)-1, 0)]+"["+strconv.Itoa(i)+"].")
		}
	}
}
