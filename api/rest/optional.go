// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Optional is a query parameter whose absence differs from its zero value.
type Optional[T any] struct {
	Value T
	set   bool
}

// Schema describes the parameter by its value.
func (o Optional[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeOf(o.Value))
}

// Receiver is where Huma writes the value.
func (o *Optional[T]) Receiver() reflect.Value { return reflect.ValueOf(o).Elem().Field(0) }

// OnParamSet notes whether there was one.
func (o *Optional[T]) OnParamSet(isSet bool, _ any) { o.set = isSet }

// Pointer returns the value, or nil without one.
func (o *Optional[T]) Pointer() *T {
	if !o.set {
		return nil
	}
	return &o.Value
}
