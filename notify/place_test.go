package notify_test

import (
	"testing"

	"vigil"
	"vigil/notify"
)

// TestSecretsHaveAPlace holds that every secret of a config lies in an object that says
// where it is sent, so that a kept secret cannot be sent elsewhere.
func TestSecretsHaveAPlace(t *testing.T) {
	t.Parallel()
	found := 0
	for kind, fields := range notify.Secrets() {
		unplaced(fields, string(kind), false, func(path string, placed bool) {
			if found++; !placed {
				t.Errorf("%s is secret, and no member beside or above it has the tag place", path)
			}
		})
	}
	if found == 0 {
		t.Error("no type has a secret")
	}
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
