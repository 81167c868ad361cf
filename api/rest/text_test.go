// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

func TestCleanName(t *testing.T) {
	t.Parallel()

	t.Run("AcceptsTextOfAnyScript", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"api", "Zürich – Süd", "東京", "مرحبا", "❤️ heart", "🇨🇭", strings.Repeat("ö", 200)} {
			if got, err := rest.CleanName("name", " "+name+" "); err != nil || got != name {
				t.Errorf("%q became %q, %v", name, got, err)
			}
		}
	})

	t.Run("RefusesWhatMisleadsAReader", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{
			"", " ", "a\nb", "a\x00b", "a\u2028b", strings.Repeat("ö", 201),
			"pay\u202egnp", "a\u2066b", "a\u200eb", "a\u061cb", // the direction of text
			"a\u200bb", "a\u200db", "a\u2060b", "a\ufeffb", "\u3164", "a\u00adb", "a\U000e0041b", "a\ufe01b", // no width
		} {
			if _, err := rest.CleanName("name", name); vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Errorf("%q: %v", name, err)
			}
			if _, err := rest.CleanEmail("email", "a"+strings.TrimSpace(name)+"@example.com"); strings.TrimSpace(name) != "" &&
				len(name) < 100 && vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Errorf("the address with %q: %v", name, err)
			}
		}
	})
}
