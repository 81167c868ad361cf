// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"0": true, "-1": true, "+1": true, "007": true, "1.10": true, "1e5": true, "1E-5": true, "1e+05": true, "-0.0e0": true,
		"": false, "-": false, ".5": false, "5.": false, "1e": false, "1e+": false, "0x10": false, "1_000": false, "NaN": false, "Inf": false,
		"infinity": false, "1 2": false, "1,5": false, " 1": false, "1e1234567890123456789": false, "1e0000000000000000000005": true, "٣": false,
	} {
		if _, ok := parseNumber(text); ok != want {
			t.Errorf("%q is a number: %v", text, ok)
		}
	}
	t.Run("Compare", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			draw := rapid.StringMatching(`[+-]?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`)
			one, other := draw.Draw(t, "one"), draw.Draw(t, "other")
			a, _ := new(big.Rat).SetString(one)
			b, _ := new(big.Rat).SetString(other)
			m, ok := parseNumber(one)
			n, fine := parseNumber(other)
			if !ok || !fine || m.compare(n) != a.Cmp(b) || m.compare(m) != 0 {
				t.Fatalf("%s and %s: %d, want %d", one, other, m.compare(n), a.Cmp(b))
			}
		})
	})
	t.Run("AHugeExponentCostsNothing", func(t *testing.T) {
		t.Parallel()
		one, _ := parseNumber("1e999999999999999999")
		other, _ := parseNumber("1" + strings.Repeat("0", 1<<20) + "e-" + strconv.Itoa(1<<20))
		began := time.Now()
		if one.compare(other) != 1 || other.compare(one) != -1 || time.Since(began) > 5*time.Second {
			t.Error("1e999999999999999999 is more than 1")
		}
	})
}
