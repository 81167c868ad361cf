package probe

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"vigil"
)

// Bounds of a check's timeout, which is also at most its interval.
const (
	maxTimeout     = 60 * time.Second
	defaultTimeout = 10 * time.Second
	maxNameLength  = 80 // of an unknown member's name, in an error
)

// decode reads a config into a struct of one level or more. The struct's tags,
// which also document it, are enforced: a member without omitempty is required;
// minimum, maximum, minLength, maxLength, minItems, maxItems and enum bind; an
// absent member gets its default. A null counts as absent. Every error names the
// member by its path and says what would be right, never what was given.
func decode(config json.RawMessage, into any) error {
	members, err := readDocument(config)
	if err != nil {
		return err
	}
	return fill(reflect.ValueOf(into).Elem(), members, "config")
}

// member and element are the paths of what lies below a path.
func member(path, name string) string {
	if len(name) > maxNameLength {
		name = vigil.Truncate(name, maxNameLength) + "..."
	}
	return path + "." + name
}

func element(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

func fill(into reflect.Value, members map[string]any, path string) error {
	known := make([]string, 0, into.NumField())
	for i := range into.NumField() {
		field := into.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		known = append(known, name)
		given, ok := members[name]
		if ok && given != nil {
			if err := set(into.Field(i), given, field.Tag, member(path, name)); err != nil {
				return err
			}
			continue
		}
		if !strings.Contains(options, "omit") {
			return vigil.Invalid(member(path, name), "is required%s", described(field.Tag))
		}
		if text, ok := field.Tag.Lookup("default"); ok {
			setDefault(into.Field(i), text)
		}
	}
	unknown := ""
	for name := range members {
		if !slices.Contains(known, name) && (unknown == "" || name < unknown) {
			unknown = name
		}
	}
	if _, empty := members[""]; unknown != "" || empty {
		return vigil.Invalid(member(path, unknown), "is not a member here; the known ones are %s", strings.Join(known, ", "))
	}
	return nil
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
	panic(fmt.Sprintf("probe: a config cannot hold a %s", into.Kind()))
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
	if least, bound := limit(tag, "minLength"); bound && float64(utf8.RuneCountInString(text)) < least {
		return vigil.Invalid(path, "must not be shorter than %v characters", least)
	}
	if most, bound := limit(tag, "maxLength"); bound && float64(utf8.RuneCountInString(text)) > most {
		return vigil.Invalid(path, "must not be longer than %v characters", most)
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
		if err := set(list.Index(i), item, tag, element(path, i)); err != nil {
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
			return vigil.Invalid(member(path, name), "must be a string")
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
			panic(fmt.Sprintf("probe: default %q: %v", text, err))
		}
		into.Set(reflect.ValueOf(number).Convert(into.Type()))
	default:
		panic(fmt.Sprintf("probe: a %s cannot have a default", into.Kind()))
	}
}

// timeout is the deadline of a run of a config whose timeout_seconds is given,
// or 0 where it is not.
func timeout(seconds int, interval time.Duration) (time.Duration, error) {
	if seconds == 0 {
		return min(defaultTimeout, interval), nil
	}
	given := time.Duration(seconds) * time.Second
	if given > interval {
		return 0, vigil.Invalid("config.timeout_seconds", "must not exceed the check's interval, which is %s", humanDuration(interval))
	}
	return given, nil
}

// humanDuration writes a duration in seconds, or milliseconds below one.
func humanDuration(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + "s"
}
