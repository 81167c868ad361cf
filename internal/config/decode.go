// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// Decode reads a config of at most limit bytes into a struct, embedded and inner
// structs included. The struct's tags are enforced: a member without omitempty is
// required; minimum, maximum, minLength, maxLength, minItems, maxItems and enum
// bind; an absent member gets its default. null is no value of any member, and neither is
// the empty text of a member with a format. Every error is a vigil.Invalid that names the
// member by its path ("config.url") and says what would be right, never the given value. The owner is what has the config,
// a check or a channel.
func Decode(given json.RawMessage, into any, owner string, limit int) error {
	members, err := readDocument(given, owner, limit)
	if err != nil {
		return err
	}
	return fill(reflect.ValueOf(into).Elem(), members, "config")
}

// Member returns the path of a member of the object at a path. A name that was
// given is made a single line; vigil.Invalid bounds its length.
func Member(path, name string) string {
	name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, " "), unicode.IsControl), " ")
	return path + "." + name
}

// Element returns the path of an item of the list at a path.
func Element(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

func fill(into reflect.Value, members map[string]any, path string) error {
	fields := reflect.VisibleFields(into.Type())
	known := make([]string, 0, len(fields))
	for _, field := range fields {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		known = append(known, name)
		given, ok := members[name]
		if ok && given != nil {
			if err := set(into.FieldByIndex(field.Index), given, field.Tag, Member(path, name)); err != nil {
				return err
			}
			continue
		}
		if !strings.Contains(options, "omit") {
			return vigil.Invalid(Member(path, name), "is required%s", described(field.Tag))
		}
		if ok {
			return vigil.Invalid(Member(path, name), "must not be null; leave it out instead")
		}
		if text, ok := field.Tag.Lookup("default"); ok {
			setDefault(into.FieldByIndex(field.Index), text)
		}
	}
	unknown := ""
	for name := range members {
		if !slices.Contains(known, name) && (unknown == "" || name < unknown) {
			unknown = name
		}
	}
	if _, empty := members[""]; unknown != "" || empty {
		return vigil.Invalid(Member(path, unknown), "is not a member here; the known ones are %s", strings.Join(known, ", "))
	}
	return nil
}

// Missing is the error for a required member that is absent, of the config that zero is the
// value of. The path ends with the member's name.
func Missing(zero any, path string) error {
	name := path[strings.LastIndexByte(path, '.')+1:]
	for _, field := range reflect.VisibleFields(reflect.TypeOf(zero)) {
		if memberName(field) == name {
			return vigil.Invalid(path, "is required%s", described(field.Tag))
		}
	}
	return vigil.Invalid(path, "is required")
}

// Names returns the names of the members of a config, in their order.
func Names(zero any) []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(zero)) {
		if !field.Anonymous {
			names = append(names, memberName(field))
		}
	}
	return names
}

func described(tag reflect.StructTag) string {
	if doc := tag.Get("doc"); doc != "" {
		return ": " + strings.ToLower(doc[:1]) + doc[1:]
	}
	return ""
}

// set puts a value of a document into a field and enforces the field's tags.
// They bind the elements of a list of strings or numbers, too.
func set(into reflect.Value, given any, tag reflect.StructTag, path string) error {
	switch into.Kind() { //nolint:exhaustive // the kinds that configs are made of
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return set(into.Elem(), given, tag, path)
	case reflect.Interface:
		if given == nil {
			return vigil.Invalid(path, "must not be null")
		}
		into.Set(reflect.ValueOf(given))
		return nil
	case reflect.String:
		return setString(into, given, tag, path)
	case reflect.Bool:
		flag, ok := given.(bool)
		if !ok {
			return vigil.Invalid(path, "must be true or false")
		}
		into.SetBool(flag)
		return nil
	case reflect.Int, reflect.Float64:
		return setNumber(into, given, tag, path)
	case reflect.Struct:
		members, ok := given.(map[string]any)
		if !ok {
			return vigil.Invalid(path, "must be an object")
		}
		return fill(into, members, path)
	case reflect.Slice:
		return setSlice(into, given, tag, path)
	case reflect.Map:
		return setMap(into, given, path)
	}
	panic(fmt.Sprintf("config: a config cannot hold a %s", into.Kind()))
}

func setString(into reflect.Value, given any, tag reflect.StructTag, path string) error {
	text, ok := given.(string)
	allowed := strings.Split(tag.Get("enum"), ",")
	if number, is := given.(json.Number); is && slices.Contains(allowed, number.String()) {
		text, ok = number.String(), true // "ip_version": 4 is as clear as "4"
	}
	if !ok {
		return vigil.Invalid(path, "must be a string")
	}
	if tag.Get("enum") != "" && !slices.Contains(allowed, text) {
		return vigil.Invalid(path, "must be one of %s", strings.Join(allowed, ", "))
	}
	if text == "" && tag.Get("format") != "" {
		return vigil.Invalid(path, "must not be empty; leave it out instead")
	}
	if least, bound := limit(tag, "minLength"); bound && float64(utf8.RuneCountInString(text)) < least {
		return vigil.Invalid(path, "must have at least %v characters", least)
	}
	if most, bound := limit(tag, "maxLength"); bound && float64(utf8.RuneCountInString(text)) > most {
		return vigil.Invalid(path, "must have at most %v characters", most)
	}
	into.SetString(text)
	return nil
}

func setNumber(into reflect.Value, given any, tag reflect.StructTag, path string) error {
	kind := "a number"
	if into.Kind() == reflect.Int {
		kind = "a whole number"
	}
	least, low := limit(tag, "minimum")
	most, high := limit(tag, "maximum")
	switch {
	case low && high:
		kind += fmt.Sprintf(" from %v to %v", least, most)
	case low:
		kind += fmt.Sprintf(" of at least %v", least)
	case high:
		kind += fmt.Sprintf(" of at most %v", most)
	}
	number, ok := given.(json.Number)
	if !ok {
		return vigil.Invalid(path, "must be %s", kind)
	}
	value, err := number.Float64()
	whole := into.Kind() != reflect.Int || value == math.Trunc(value) && math.Abs(value) < 1<<53
	if err != nil || !whole || low && value < least || high && value > most {
		return vigil.Invalid(path, "must be %s", kind)
	}
	if into.Kind() == reflect.Int {
		into.SetInt(int64(value))
	} else {
		into.SetFloat(value)
	}
	return nil
}

func setSlice(into reflect.Value, given any, tag reflect.StructTag, path string) error {
	items, ok := given.([]any)
	if !ok {
		return vigil.Invalid(path, "must be a list")
	}
	if least, bound := limit(tag, "minItems"); bound && float64(len(items)) < least {
		return vigil.Invalid(path, "must have at least %v entries", least)
	}
	if most, bound := limit(tag, "maxItems"); bound && float64(len(items)) > most {
		return vigil.Invalid(path, "must have at most %v entries", most)
	}
	list := reflect.MakeSlice(into.Type(), len(items), len(items))
	for i, item := range items {
		if err := set(list.Index(i), item, tag, Element(path, i)); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

func setMap(into reflect.Value, given any, path string) error {
	members, ok := given.(map[string]any)
	if !ok {
		return vigil.Invalid(path, "must be an object")
	}
	if into.Type().Elem().Kind() == reflect.Interface {
		into.Set(reflect.ValueOf(members))
		return nil
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(members)))
	for name, value := range members {
		text, ok := value.(string)
		if !ok {
			return vigil.Invalid(Member(path, name), "must be a string")
		}
		into.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(text))
	}
	return nil
}

func limit(tag reflect.StructTag, name string) (float64, bool) {
	value, err := strconv.ParseFloat(tag.Get(name), 64)
	return value, err == nil
}

// setDefault puts a tag's text into a field. The tags are ours: a text that
// does not fit its field is a mistake that the tests of its type show.
func setDefault(into reflect.Value, text string) {
	switch into.Kind() {
	case reflect.String:
		into.SetString(text)
	case reflect.Bool:
		into.SetBool(text == "true")
	case reflect.Int, reflect.Float64:
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("config: default %q: %v", text, err))
		}
		into.Set(reflect.ValueOf(number).Convert(into.Type()))
	default:
		panic(fmt.Sprintf("config: a %s cannot have a default", into.Kind()))
	}
}
