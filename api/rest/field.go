// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Field is a member of a body that may be left out. It distinguishes a member
// that is absent (Given is false), null, which is refused, and one with a value.
// Its json tag needs omitzero, so that the document does not require it.
type Field[T any] struct {
	Value T
	Given bool
	null  bool
	wrong bool // of another type, which schema validation reports too
}

// UnmarshalJSON reads the member. It leaves errors to Resolve, since an error here
// would stop the decoder before the next member.
func (f *Field[T]) UnmarshalJSON(data []byte) error {
	f.Given = true
	if bytes.Equal(data, []byte("null")) {
		f.null = true
		return nil
	}
	f.wrong = json.Unmarshal(data, &f.Value) != nil
	return nil
}

// DropUnusable takes a member that is null or of another type for an absent one.
func (f *Field[T]) DropUnusable() {
	if f.null || f.wrong {
		*f = Field[T]{}
	}
}

// Schema describes the member by its value.
func (f Field[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// Resolve reports a member that is null or of another type, with the path of the
// member, for Huma.
func (f *Field[T]) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	switch {
	case f.null:
		return []error{&huma.ErrorDetail{Location: prefix.String(), Message: NotNull}}
	case f.wrong:
		return []error{&huma.ErrorDetail{Location: prefix.String(), Message: "must be " + kindName(reflect.TypeFor[T]().Kind())}}
	}
	return nil
}

// Integer is a whole number however it is written: 60.0 and 6e1 are whole, as
// JSON Schema has it.
type Integer int64

// UnmarshalJSON reads a number without a fraction that fits 64 bits.
func (i *Integer) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*int64)(i)); err == nil {
		return nil
	}
	var number float64
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	if number != math.Trunc(number) || math.Abs(number) >= 1<<63 {
		return &json.UnmarshalTypeError{Value: "number", Type: reflect.TypeFor[int64]()}
	}
	*i = Integer(number)
	return nil
}

// Schema describes a whole number of 64 bits.
func (Integer) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
}

// Object is an object whose members depend on another member of the body, such as
// type. It is kept as raw JSON.
type Object json.RawMessage

// UnmarshalJSON keeps the text.
func (o *Object) UnmarshalJSON(data []byte) error {
	*o = bytes.Clone(data)
	return nil
}

// Schema describes any object.
func (Object) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeObject} }
