// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Field describes a member of a config: all that a form needs to ask for it. It comes from
// the member's tags. These are for forms alone:
//
//	title   the label; without it, the name in words
//	help    a sentence beside the field; without it and a title, the doc
//	form    words between commas: a group (address, time, request, expect, more), how it is
//	        entered (area, types), and how it looks (mono, short, medium, half)
//	words   what its values are called, in the order in which they are offered: "4=IPv4|6=IPv6"
//	sample  what an empty field shows; without it, the example or the default
//	begin   what the member of a new config has, as JSON
//	add     the text of the button that adds an entry
//
// Members with the names in usualTags have those tags unless they say something else.
type Field struct {
	Name, Title, Help, Description string
	// Input is how the member is entered: one of the constants below.
	Input string
	// Group is the part of a form that the member stands in: address, time, request, expect or more.
	Group string
	// URL: the member is an address with a scheme.
	URL bool
	// Options are the values that it may have, in the order in which they are offered; none: any.
	Options         []Option
	Default, Sample string
	// Begin is what the member of a new config has, as JSON; empty: nothing.
	Begin string
	// Minimum and Maximum bind a number; nil: nothing does.
	Minimum, Maximum *float64
	// Secret says what of it is secret: one of the constants below, empty for nothing.
	Secret string
	// SecretWhen is the boolean member beside it that makes it a secret; empty: none does.
	SecretWhen string
	Required   bool
	Mono       bool   // it is for machines, such as an address
	Width      string // short, medium, half, or empty for the whole line
	Add        string // text of the button that adds an entry
	// Members are those of an object, or of the objects of a list.
	Members []Field
}

// Option is a value that a member may have, and what people call it.
type Option struct{ Value, Title string }

// Values of Field.Input.
const (
	InputText     = "text"
	InputArea     = "area" // text of several lines
	InputNumber   = "number"
	InputSwitch   = "switch"   // true or false
	InputDecision = "decision" // true, false or left out
	InputChoice   = "choice"   // one of the options
	InputLines    = "lines"    // a list of texts
	InputList     = "list"     // a list of numbers and texts in one line
	InputValue    = "value"    // a text, a number or a boolean
	InputPairs    = "pairs"    // an object with free names, of texts
	InputGroup    = "group"    // an object
	InputRows     = "rows"     // a list of objects
	InputConfig   = "config"   // the config of a check, whose type is the member "type" beside it
)

// Values of Field.Secret.
const (
	SecretValue   = "value"   // all of it
	SecretNames   = "names"   // the values whose names say credential
	SecretQuery   = "query"   // parameters of the address whose names say credential
	SecretAddress = "address" // the address but its scheme, host and port
)

// usualTags are the tags of members that mean the same in most types.
func usualTags(name string) reflect.StructTag {
	switch name {
	case "url":
		return `title:"Address" form:"address,mono"`
	case "host":
		return `title:"Host" help:"A name or an IP address." form:"address,mono"`
	case "port":
		return `title:"Port" form:"address,mono,short"`
	case "timeout_seconds":
		return `title:"Timeout, in seconds" form:"time,short" sample:"10"`
	case "headers":
		return `title:"Headers" form:"request,mono" add:"Add header"`
	case "ip_version":
		return `title:"IP version" form:"more,short" words:"any=any|4=IPv4|6=IPv6"`
	case "verify_tls":
		return `title:"Fail when the certificate is not valid" form:"more"`
	case "tls":
		return `title:"TLS" form:"more"`
	case "server_name":
		return `title:"Server name" form:"more,mono" sample:"" help:"To ask for, and to verify the certificate against. The host, when it is empty."`
	case "username":
		return `title:"User name" form:"medium"`
	case "password":
		return `title:"Password" form:"medium"`
	}
	return ""
}

// Describe describes the members of the configs that a struct reads, in their order. types are
// the values of a member with form:"types".
func Describe(zero any, types []string) []Field { return describeMembers(reflect.TypeOf(zero), types) }

func describeMembers(of reflect.Type, types []string) []Field {
	var list []Field
	for _, field := range reflect.VisibleFields(of) {
		if !field.Anonymous {
			list = append(list, describeMember(field, types))
		}
	}
	return list
}

// tags are those of a member, or else the usual ones of its name.
type tags struct{ own, usual reflect.StructTag }

func (t tags) Lookup(key string) (string, bool) {
	if text, ok := t.own.Lookup(key); ok {
		return text, true
	}
	return t.usual.Lookup(key)
}

func (t tags) Get(key string) string {
	text, _ := t.Lookup(key)
	return text
}

func describeMember(field reflect.StructField, types []string) Field {
	name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
	t := tags{field.Tag, usualTags(name)}
	m := Field{
		Name: name, Title: t.Get("title"), Help: t.Get("help"), Description: t.Get("doc"), Default: t.Get("default"), Begin: t.Get("begin"),
		URL: t.Get("place") == placeURL || t.Get("format") == "uri", Required: !strings.Contains(rest, "omit"), Add: t.Get("add"),
	}
	if _, given := t.Lookup("help"); !given && m.Title == "" && m.Description != "" {
		m.Help = strings.TrimSuffix(m.Description, ".") + "."
	}
	if m.Title == "" {
		m.Title = inWords(name)
	}
	if m.Begin != "" && !json.Valid([]byte(m.Begin)) {
		panic(fmt.Sprintf("config: the tag begin of %s is not JSON", field.Name))
	}
	if least, bound := limit(field.Tag, "minimum"); bound {
		m.Minimum = &least
	}
	if most, bound := limit(field.Tag, "maximum"); bound {
		m.Maximum = &most
	}
	m.Secret, m.SecretWhen = secretOf(t.Get("secret"))
	form := strings.Split(t.Get("form"), ",")
	m.layOut(form)
	m.Input = inputOf(field.Type, t, form)
	switch m.Input {
	case InputGroup, InputRows:
		m.Members = describeMembers(elementOf(field.Type), types)
	case InputChoice, InputDecision:
		m.Options = optionsOf(t, form, types)
	}
	if m.Input == InputRows || m.Input == InputPairs {
		m.Add = cmp.Or(m.Add, "Add")
	}
	m.Sample = sampleOf(t, m.Input)
	return m
}

// layOut reads where a member stands and how it looks. What is required is an address.
func (m *Field) layOut(form []string) {
	m.Group = "more"
	if m.Required {
		m.Group = "address"
	}
	for _, word := range form {
		switch word {
		case "address", "time", "request", "expect", "more":
			m.Group = word
		case "short", "medium", "half":
			m.Width = word
		case "mono":
			m.Mono = true
		case "", "area", "types":
		default:
			panic(fmt.Sprintf("config: %s has the unknown word %q in its tag form", m.Name, word))
		}
	}
}

func elementOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// inputOf says how a member of a Go type is entered.
func inputOf(t reflect.Type, tag tags, form []string) string {
	element := elementOf(t)
	slice := t.Kind() == reflect.Slice
	switch element.Kind() { //nolint:exhaustive // the kinds that configs are made of
	case reflect.Bool:
		if t.Kind() == reflect.Pointer {
			return InputDecision
		}
		return InputSwitch
	case reflect.String:
		switch {
		case slice:
			return InputLines
		case tag.Get("enum") != "" || slices.Contains(form, "types"):
			return InputChoice
		case slices.Contains(form, "area"):
			return InputArea
		}
		return InputText
	case reflect.Struct:
		if slice {
			return InputRows
		}
		return InputGroup
	case reflect.Map:
		if element.Elem().Kind() == reflect.Interface {
			return InputConfig
		}
		return InputPairs
	case reflect.Interface:
		if slice {
			return InputList
		}
		return InputValue
	}
	return InputNumber
}

// optionsOf lists the values of a member: those that have words, and then the others.
func optionsOf(tag tags, form, types []string) []Option {
	var options []Option
	if words := tag.Get("words"); words != "" {
		for pair := range strings.SplitSeq(words, "|") {
			value, title, _ := strings.Cut(pair, "=")
			options = append(options, Option{Value: value, Title: title})
		}
	}
	values := types
	if !slices.Contains(form, "types") {
		values = strings.FieldsFunc(tag.Get("enum"), func(r rune) bool { return r == ',' })
	}
	for _, value := range values {
		if !slices.ContainsFunc(options, func(known Option) bool { return known.Value == value }) {
			options = append(options, Option{Value: value, Title: value})
		}
	}
	return options
}

// sampleOf is what an empty field of an input shows.
func sampleOf(tag tags, input string) string {
	sample, given := tag.Lookup("sample")
	switch {
	case given:
	case tag.Get("secret") == secretText, input == InputSwitch, input == InputDecision, input == InputChoice:
		return ""
	default:
		sample = cmp.Or(tag.Get("example"), tag.Get("default"))
	}
	var lines []string
	if input == InputLines && json.Unmarshal([]byte(sample), &lines) == nil {
		return strings.Join(lines, "\n")
	}
	return sample
}

// secretOf reads the tag secret.
func secretOf(tag string) (secret, when string) {
	switch tag {
	case secretText:
		return SecretValue, ""
	case secretByName:
		return SecretNames, ""
	case secretQuery:
		return SecretQuery, ""
	case secretWhole:
		return SecretAddress, ""
	}
	when, _ = strings.CutPrefix(tag, secretIf)
	if when == tag {
		return "", ""
	}
	return "", when
}

// inWords writes a name such as packet_count as a label.
func inWords(name string) string {
	text := strings.ReplaceAll(name, "_", " ")
	if before, ok := strings.CutSuffix(text, " seconds"); ok {
		text = before + ", in seconds"
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
