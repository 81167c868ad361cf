// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text                         string
		limit                        int
		bytes, characters, shortened string
	}{
		{"", 3, "", "", ""},
		{"shop", 4, "shop", "shop", "shop"},
		{"shops", 4, "shop", "shop", "s…"},
		{"shops", 3, "sho", "sho", "…"},
		{"größe", 4, "grö", "größ", "g…"},
		{"東京の店", 4, "東", "東京の店", "…"},
		{"東京の店", 3, "東", "東京の", "…"},
		{"東京の店", 12, "東京の店", "東京の店", "東京の店"},
		{"a\xffbcd", 3, "a\xffb", "a\xffb", "…"},
	} {
		if got := vigil.Truncate(tt.text, tt.limit); got != tt.bytes {
			t.Errorf("%q of %d bytes is %q, want %q", tt.text, tt.limit, got, tt.bytes)
		}
		if got := vigil.TruncateCharacters(tt.text, tt.limit); got != tt.characters {
			t.Errorf("%q of %d characters is %q, want %q", tt.text, tt.limit, got, tt.characters)
		}
		if got := vigil.Shorten(tt.text, tt.limit); got != tt.shortened {
			t.Errorf("%q shortened to %d bytes is %q, want %q", tt.text, tt.limit, got, tt.shortened)
		}
	}
	if got := vigil.TruncateCharacters("shop", 0); got != "" {
		t.Errorf("no characters are %q", got)
	}
}
