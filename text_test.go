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

// TestCheckLineOfEmoji holds that joined emoji are text, and that their joiners hide nothing
// anywhere else.
func TestCheckLineOfEmoji(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Checkout 🛒", "👩\u200d🚀 launch", "👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "👩🏽\u200d💻 API", "❤\ufe0f\u200d🔥", "☎\ufe0e desk",
		"🏴\u200d☠\ufe0f", "🐈\u200d⬛", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
		"1\ufe0f\u20e3 first", "🇩🇪", "♥\ufe0f", "™\ufe0f",
	} {
		if err := vigil.CheckLine("name", text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"Sh\u200dop", "Shop\u200d", "🚀\u200d", "\u200d🚀", "🚀\u200dShop", "Shop\u200d🚀", "👩\u200d\u200d🚀", "🚀\u200c🚀", "🚀\u200b🚀", "🚀\u2060🚀",
		"Sh\ufe0eop", "🚀\ufe00", "🚀\ufe0e\u200d🚀", "👩\u200d🏽", "🚀\U000e0041", "🏴\U000e0067\U000e0062\U000e007f",
		"🚀\u202e🚀", "a\U000e0100", "🚀\n", "👩\u200d\x00🚀",
	} {
		if err := vigil.CheckLine("name", text); vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("%q is accepted: %v", text, err)
		}
	}
}
