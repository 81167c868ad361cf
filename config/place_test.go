package config_test

import (
	"testing"

	"vigil"
	"vigil/notify"
	"vigil/probe"
)

// TestSecretsHaveAPlace holds that every secret of a config lies in an object that says
// where it is sent, so that a kept secret cannot be sent elsewhere.
func TestSecretsHaveAPlace(t *testing.T) {
	t.Parallel()
	for room, types := range map[string]map[string]vigil.SecretFields{
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
func secretsOf[T ~string](of map[T]vigil.SecretFields) map[string]vigil.SecretFields {
	named := make(map[string]vigil.SecretFields, len(of))
	for kind, fields := range of {
		named[string(kind)] = fields
	}
	return named
}

// unplaced reports each secret of a config and whether an object around it has a place.
func unplaced(fields vigil.SecretFields, path string, placed bool, report func(path string, placed bool)) {
	placed = placed || len(fields.Places) > 0
	if fields.Secret || fields.ByName {
		report(path, placed)
	}
	for name, inner := range fields.Members {
		unplaced(inner, path+"."+name, placed, report)
	}
	for kind, inner := range fields.ByType {
		unplaced(inner, path+"("+string(kind)+")", placed, report)
	}
}
