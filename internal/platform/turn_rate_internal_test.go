// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"math"
	"testing"
)

func TestTurnRates(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		given       string
		processors  int
		every, wide float64
		states      int
	}{
		{"auto", 2, 5, 1.43, 6_000},
		{"auto", 1, 5, 0.71, 6_000},
		{"auto", 16, 5, 5, 6_000}, // never more than where each slot has one
		{"20", 2, 20, 20, 12_000},
		{"1000", 2, 1000, 1000, 128_000},
		{"0.001", 64, 0.001, 0.001, 6_000},
		{"0", 2, 0, 0, 0},
	} {
		var r turnRate
		if err := r.UnmarshalText([]byte(one.given)); err != nil {
			t.Fatal(err)
		}
		if every, wide := r.everySlot(), r.wide(one.processors); every != one.every || math.Abs(wide-one.wide) > 0.005 {
			t.Errorf("%s with %d processors: %g and %g turns a second, want %g and %g", one.given, one.processors, every, wide, one.every, one.wide)
		}
		if got := r.states(); got != one.states {
			t.Errorf("%s: %d states in memory, want %d", one.given, got, one.states)
		}
	}
	if s, err := ParseSettings(map[string]string{}); err != nil || s.TurnRate != (turnRate{automatic: true}) || s.Small != smallAuto {
		t.Errorf("by default the budget is %+v and the machine small %s, %v", s.TurnRate, s.Small, err)
	}
	for _, wrong := range []string{"", "fast", "-1", "1001", "NaN", "Inf"} {
		var r turnRate
		if err := r.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q is a rate", wrong)
		}
	}
}
