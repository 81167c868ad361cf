// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/redact"
)

// TestEscapesOfAnyCharacter holds that escaping more of a secret than is needed does not
// bring it past the redaction.
func TestEscapesOfAnyCharacter(t *testing.T) {
	t.Parallel()
	hidden := redact.New(value, "pin", "token-1")
	escaped := func(text string, every int, format string) string {
		var out strings.Builder
		for i := range len(text) {
			if i%every == 0 {
				fmt.Fprintf(&out, format, text[i])
			} else {
				out.WriteByte(text[i])
			}
		}
		return out.String()
	}
	for _, every := range []int{1, 2, 3} {
		for _, format := range []string{"%%%02X", "%%%02x"} {
			text := "a%20" + escaped(value, every, format) + "&b=" + escaped("token-1", every, format) + "%"
			if got := hidden.Text(text); got != "a%20***&b=***%" {
				t.Errorf("%s became %s", text, got)
			}
		}
	}
	for _, text := range []string{"100% of it", "%", "%4", "%zz%70in", "no escape"} {
		if got := hidden.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
