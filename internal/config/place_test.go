// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// TestSecretsHaveAPlace holds that every secret of a config lies in an object that says
// where it is sent, so that a kept secret cannot be sent elsewhere.
func TestSecretsHaveAPlace(t *testing.T) {
	t.Parallel()
	for room, types := range map[string]map[string]secret.Fields{
		"channels": secretsOf(notify.Secrets()), "checks": secretsOf(probe.Secrets()),
	} {
		found := 0
		for kind, fields := range types {
			unplaced(fields, kind, false, func(path string, placed bool) {
				if found++; !placed {
					t.Errorf("%s is secret, and no member beside or above it has the tag place", path)
				}
			})
		}
		if found == 0 {
			t.Errorf("no type of %s has a secret", room)
		}
	}
}

// secretsOf returns the secrets of types by their names.
func secretsOf[T ~string](of map[T]secret.Fields) map[string]secret.Fields {
	named := make(map[string]secret.Fields, len(of))
	for kind, fields := range of {
		named[string(kind)] = fields
	}
	return named
}

// unplaced reports each secret of a config and whether an object around it has a place.
func unplaced(fields secret.Fields, path string, placed bool, report func(path string, placed bool)) {
	placed = placed || len(fields.Places) > 0
	if fields.Secret || fields.ByName || fields.Query || fields.If != "" {
		report(path, placed)
	}
	for name, inner := range fields.Members {
		unplaced(inner, path+"."+name, placed, report)
	}
	for kind, inner := range fields.ByType {
		unplaced(inner, path+"("+string(kind)+")", placed, report)
	}
}

// TestEveryAddressMayHoldCredentials holds that an address of a config is secret itself, or in
// the parameters of its query.
func TestEveryAddressMayHoldCredentials(t *testing.T) {
	t.Parallel()
	checks, channels, found := probe.NewRegistry(nil), notify.NewRegistry(nil), 0
	var look func(kind string, of reflect.Type)
	look = func(kind string, of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "url" || strings.HasSuffix(name, "_url") {
				found++
				if tag := field.Tag.Get("secret"); tag != "query" && tag != "address" || field.Tag.Get("place") != "url" {
					t.Errorf("%s of %s needs the tags secret and place", name, kind)
				}
			}
			if !field.Anonymous {
				look(kind, field.Type)
			}
		}
	}
	for _, kind := range checks.Types() {
		look(string(kind), reflect.TypeOf(checks.Config(kind)))
	}
	for _, kind := range channels.Types() {
		look(string(kind), reflect.TypeOf(channels.Config(kind)))
	}
	if found < 6 {
		t.Errorf("only %d addresses are known", found)
	}
}
