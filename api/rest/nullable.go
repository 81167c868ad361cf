// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Nullable is a member of a body that may be left out, and that null empties. Its json tag
// needs omitzero.
type Nullable[T any] struct {
	Value *T // nil for null
	Given bool
	wrong bool // of another type, which schema validation reports too
}

// UnmarshalJSON reads the member. It leaves errors to Resolve, as Field does.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	n.Given = true
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	n.Value = new(T)
	n.wrong = json.Unmarshal(data, n.Value) != nil
	return nil
}

// Schema describes the member by its value, or null. Huma skips the validation of an optional
// member that is null.
func (n Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	schema := *r.Schema(reflect.TypeFor[T](), true, "")
	if schema.Ref == "" {
		schema.Nullable = true
		return &schema
	}
	schema.Extensions = map[string]any{ExtensionNullable: true}
	return &schema
}

// Resolve reports a member of another type, for Huma.
func (n *Nullable[T]) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	if n.wrong {
		return []error{&huma.ErrorDetail{Location: prefix.String(), Message: "must be " + kindName(reflect.TypeFor[T]().Kind()) + " or null"}}
	}
	return nil
}
