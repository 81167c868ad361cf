// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// The values of the tag secret.
const (
	secretText   = "true"    // a text, or a list of texts
	secretByName = "by-name" // a map whose names say which values are credentials, such as HTTP headers
	secretByType = "by-type" // the config of a check whose type is the member "type" beside it
	secretWhole  = "address" // an address that is a credential itself: scheme, host and port are shown
	secretQuery  = "query"   // an address whose query may hold credentials, as the names of its parameters say
	secretIf     = "if:"     // and the name of a boolean member beside it: a text that is secret where that is true
)

// Secrets returns the secret members of the configs that a struct reads, from
// its tags. Members tagged by-type have the secrets of types.
func Secrets(zero any, types map[vigil.CheckType]secret.Fields) secret.Fields {
	return secretsOf(reflect.TypeOf(zero), types)
}

func secretsOf(t reflect.Type, types map[vigil.CheckType]secret.Fields) secret.Fields {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	members := make(map[string]secret.Fields)
	if t.Kind() == reflect.Struct {
		for _, field := range reflect.VisibleFields(t) {
			if field.Anonymous {
				continue
			}
			if inner := secretsOfField(field, types); !reflect.ValueOf(inner).IsZero() {
				members[memberName(field)] = inner
			}
		}
	}
	if len(members) == 0 {
		return secret.Fields{}
	}
	return secret.Fields{Members: members, Places: placesOf(t)}
}

// The values of the tag place.
const (
	placeURL  = "url"  // a URL: its scheme, host and port say where secrets go
	placeText = "text" // all of the member does
)

// placesOf returns the members of a struct that say where its secrets go, from the
// tags place.
func placesOf(t reflect.Type) []secret.PlaceMember {
	var places []secret.PlaceMember
	for _, field := range reflect.VisibleFields(t) {
		switch tag := field.Tag.Get("place"); tag {
		case "":
		case placeURL, placeText:
			places = append(places, secret.PlaceMember{Name: memberName(field), URL: tag == placeURL, Default: field.Tag.Get("default")})
		default:
			panic(fmt.Sprintf("config: %s has the unknown tag place:%q", field.Name, tag))
		}
	}
	return places
}

func secretsOfField(field reflect.StructField, types map[vigil.CheckType]secret.Fields) secret.Fields {
	tag := field.Tag.Get("secret")
	if member, ok := strings.CutPrefix(tag, secretIf); ok && member != "" {
		return secret.Fields{If: member}
	}
	switch tag {
	case "":
		return secretsOf(field.Type, types)
	case secretWhole:
		return secret.Fields{Secret: true, Address: true}
	case secretQuery:
		return secret.Fields{Query: true}
	case secretText:
		return secret.Fields{Secret: true}
	case secretByName:
		return secret.Fields{ByName: true}
	case secretByType:
		if types == nil {
			types = map[vigil.CheckType]secret.Fields{} // all are unknown
		}
		return secret.Fields{ByType: types}
	default:
		panic(fmt.Sprintf("config: %s has the unknown tag secret:%q", field.Name, tag))
	}
}

// memberName is the name of a struct's field in JSON.
func memberName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// IsSecret reports whether a field of a config struct is tagged as a secret text.
func IsSecret(field reflect.StructField) bool { return field.Tag.Get("secret") == secretText }
