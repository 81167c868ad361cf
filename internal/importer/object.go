// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Object is an object whose members keep their order. A value is a text, a number, a bool,
// an Object, or a list ([]any or []string). In a text, ${NAME} is a variable of the file;
// Literal escapes a text that has none.
type Object []Member

// Member is a named value of an object.
type Member struct {
	Name  string
	Value any
}

// Literal returns a text that a file reads as the given one, without variables.
func Literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// Set sets a member, at its place when the object has it.
func (o *Object) Set(name string, value any) {
	for i := range *o {
		if (*o)[i].Name == name {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Member{name, value})
}

// Get returns the value of a member, nil without one.
func (o Object) Get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Delete removes a member.
func (o *Object) Delete(name string) {
	*o = slices.DeleteFunc(*o, func(m Member) bool { return m.Name == name })
}

// MarshalJSON writes the members in order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.Value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
