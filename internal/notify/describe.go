// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

// TypeInfo describes a channel type: what a form needs to ask for its config.
type TypeInfo struct {
	Type vigil.ChannelType
	// Position among the types that people choose from, lowest first; 0: behind those that have one.
	Position int
	Title    string // what people call it
	About    string // what it does, as the end of a sentence
	// Formats are the products that it sends to, the default first; none where the type has one form.
	Formats []FormatInfo
	Members []MemberInfo // of the config, in order
}

// FormatInfo describes a format of a type.
type FormatInfo struct {
	Name, Title string
	// Hosts name the format by the address of a config that has none. One that begins with a dot
	// stands for all names below it.
	Hosts []string
	// Requires and Takes are the members of the config that must and may be there besides those of
	// every format.
	Requires, Takes []string
}

// MemberInfo describes a member of a config.
type MemberInfo struct {
	Name, Title, Description string
	// Type is string, boolean, integer, number, array (of strings) or object (of strings).
	Type    string
	Format  string   // uri or email; empty for any other text
	Options []string // the values that it may have; none: any
	Default string
	Example string
	Secret  bool
	// Required: a config without it is refused, in every format.
	Required bool
}

// Describe returns what is known of all channel types, in the order in which people choose them.
func (r *Registry) Describe() []TypeInfo {
	all := make([]TypeInfo, 0, len(r.notifiers))
	for _, t := range r.Types() {
		info := r.notifiers[t].Describe()
		info.Type, info.Members = t, membersOf(r.notifiers[t].Documents())
		all = append(all, info)
	}
	slices.SortStableFunc(all, func(a, b TypeInfo) int {
		if (a.Position == 0) != (b.Position == 0) {
			return cmp.Compare(b.Position, a.Position)
		}
		return cmp.Compare(a.Position, b.Position)
	})
	return all
}

// formatInfos describes formats.
func formatInfos[C any](formats []format[C]) []FormatInfo {
	list := make([]FormatInfo, len(formats))
	for i, f := range formats {
		list[i] = FormatInfo{Name: f.name, Title: f.title, Hosts: f.hosts, Requires: f.takes[:f.required], Takes: f.takes[f.required:]}
	}
	return list
}

// membersOf describes the members of a config by its tags.
func membersOf(zero any) []MemberInfo {
	var list []MemberInfo
	for _, field := range reflect.VisibleFields(reflect.TypeOf(zero)) {
		if field.Anonymous {
			continue
		}
		name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
		member := MemberInfo{
			Name: name, Title: field.Tag.Get("title"), Description: field.Tag.Get("doc"), Type: "string", Format: field.Tag.Get("format"),
			Default: field.Tag.Get("default"), Example: field.Tag.Get("example"), Secret: config.IsSecret(field), Required: rest == "",
		}
		if values := field.Tag.Get("enum"); values != "" {
			member.Options = strings.Split(values, ",")
		}
		switch field.Type.Kind() {
		case reflect.Bool:
			member.Type = "boolean"
		case reflect.Int:
			member.Type = "integer"
		case reflect.Float64:
			member.Type = "number"
		case reflect.Slice:
			member.Type = "array"
		case reflect.Map:
			member.Type = "object"
		default:
		}
		list = append(list, member)
	}
	return list
}
