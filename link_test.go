// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestWithoutLinks(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain text, 99.5 % in v1.2.3":               "plain text, 99.5 % in v1.2.3",
		"log in at https://evil.example/x?y=1 now":   "log in at [link removed] now",
		"HTTPS://EVIL.EXAMPLE":                       "[link removed]",
		"see www.evil.example/x.":                    "see [link removed]",
		"mailto:eve@evil.example":                    "[link removed]",
		"ftp:/evil.example":                          "[link removed]",
		"evil.example is down":                       "evil[.]example is down",
		"(login.evil.example/a.html)":                "(login[.]evil[.]example/a[.]html)",
		"eve@evil.example":                           "eve@evil[.]example",
		"bücher.example":                             "bücher[.]example",
		"It failed. The next one did not.":           "It failed. The next one did not.",
		"javascript:alert(1) is text, not a link":    "javascript:alert(1) is text, not a link",
		"two http://a.example http://b.example done": "two [link removed] [link removed] done",
	} {
		if got := vigil.WithoutLinks(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
