// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"

	"github.com/vigil-monitor/vigil"
)

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
