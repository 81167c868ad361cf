package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"vigil"
)

// maxConfig bounds a config as text, in bytes.
const maxConfig = 64 << 10

// decode reads a config into a struct of strings, lists of strings and objects
// of strings. The struct's tags, which also document it, are enforced: a member
// without omitempty is required, and minLength, maxLength, minItems, maxItems
// and enum bind. A null counts as absent. Every error names the member and says
// what would be right, never what was given.
func decode(config json.RawMessage, into any) error {
	if len(config) > maxConfig {
		return vigil.Invalid("config", "must be at most %d KiB", maxConfig>>10)
	}
	var members map[string]json.RawMessage
	err := json.Unmarshal(config, &members)
	switch _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); {
	case len(bytes.TrimSpace(config)) == 0 || err == nil && members == nil:
		return vigil.Invalid("config", "is required, an object with the members of the channel's type")
	case wrongType:
		return vigil.Invalid("config", "must be an object")
	case err != nil:
		return vigil.Invalid("config", "is not valid JSON")
	}
	var known []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		known = append(known, name)
		given, ok := members[name]
		if !ok || string(given) == "null" {
			if !strings.Contains(options, "omitempty") {
				return vigil.Invalid("config."+name, "is required")
			}
			continue
		}
		if err := set(reflect.ValueOf(into).Elem().FieldByIndex(field.Index), given, "config."+name, field.Tag); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			return vigil.Invalid("config."+cut(singleLine(name), 80), "is not a member here; the known ones are %s", strings.Join(known, ", "))
		}
	}
	return nil
}

func set(into reflect.Value, given json.RawMessage, path string, tag reflect.StructTag) error {
	shapes := map[reflect.Kind]string{reflect.String: "a string", reflect.Slice: "a list of strings", reflect.Map: "an object of names and strings"}
	if err := json.Unmarshal(given, into.Addr().Interface()); err != nil {
		return vigil.Invalid(path, "must be %s", shapes[into.Kind()])
	}
	switch into.Kind() { //nolint:exhaustive // the kinds that configs are made of
	case reflect.String:
		return bound(into.String(), path, tag)
	case reflect.Slice:
		if least, ok := limit(tag, "minItems"); ok && into.Len() < least {
			return vigil.Invalid(path, "must have at least %d entries", least)
		}
		if most, ok := limit(tag, "maxItems"); ok && into.Len() > most {
			return vigil.Invalid(path, "must have at most %d entries", most)
		}
	}
	return nil
}

func bound(text, path string, tag reflect.StructTag) error {
	length := utf8.RuneCountInString(text)
	if least, ok := limit(tag, "minLength"); ok && length < least {
		return vigil.Invalid(path, "must have at least %d characters", least)
	}
	if most, ok := limit(tag, "maxLength"); ok && length > most {
		return vigil.Invalid(path, "must have at most %d characters", most)
	}
	if allowed := tag.Get("enum"); allowed != "" && !slices.Contains(strings.Split(allowed, ","), text) {
		return vigil.Invalid(path, "must be one of %s", strings.Join(strings.Split(allowed, ","), ", "))
	}
	return nil
}

func limit(tag reflect.StructTag, name string) (int, bool) {
	value, err := strconv.Atoi(tag.Get(name))
	return value, err == nil
}

// maxURL bounds an address, in bytes.
const maxURL = 2048

// parseURL reads the address of a receiver. Credentials in it are refused: an
// address is kept and shown as it is.
func (env *environment) parseURL(path, given string) (*url.URL, error) {
	u, err := url.Parse(given)
	switch {
	case len(given) > maxURL:
		return nil, vigil.Invalid(path, "must have at most %d characters", maxURL)
	case err != nil || u.Opaque != "":
		return nil, vigil.Invalid(path, "is not a valid URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, vigil.Invalid(path, "must begin with https:// or http://")
	case u.User != nil:
		return nil, vigil.Invalid(path, "must not hold a user name or password")
	}
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil || port == 0 || strings.HasSuffix(u.Host, ":") {
		return nil, vigil.Invalid(path, "has a port that is not a number from 1 to 65535")
	}
	host := asDialled(u.Hostname())
	if _, err := netip.ParseAddr(host); err != nil && !validName(host) {
		return nil, vigil.Invalid(path, "must name a host")
	}
	if err := env.guard.CheckHost(host, uint16(port)); err != nil {
		return nil, vigil.Invalid(path, "%s", err)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// asDialled is a host as it is looked up: digits of another script make an
// address, too.
func asDialled(host string) string {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host // an IPv6 address, or a name that is not for IDNA, such as one with an underscore
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// validName reports whether a host can be a name. One that ends in a number is
// an address in a spelling that some resolvers read and others do not.
func validName(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	numeric := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(strings.ToLower(last), "0x")
	return host != "" && len(host) <= 253 && !numeric && !strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\^{|}%@`, r)
	})
}

// visible reports whether a text is printable ASCII without spaces.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
