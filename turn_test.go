// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestTurnSlots(t *testing.T) {
	t.Parallel()
	const interval, span, loops = time.Minute, 30, 3000
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

	t.Run("CoversOneSlotWithoutASpan", func(t *testing.T) {
		t.Parallel()
		for _, span := range []int{-1, 0, 1} {
			if n := vigil.TurnSlots(uuid.New(), "eu-central-fra", start, interval, span); n != 1 {
				t.Errorf("%d slots with span %d", n, span)
			}
		}
	})

	t.Run("SpreadsTheEndsOfTurnsThatBeginTogether", func(t *testing.T) {
		t.Parallel()
		ends := make(map[int]int)
		for range loops {
			ends[vigil.TurnSlots(uuid.New(), "eu-central-fra", start, interval, span)]++
		}
		for n := 1; n <= span; n++ {
			if got := ends[n]; got < loops/span/2 || got > 2*loops/span {
				t.Errorf("%d of %d turns cover %d slots, want about %d", got, loops, n, loops/span)
			}
			delete(ends, n)
		}
		if len(ends) > 0 {
			t.Errorf("numbers outside of 1 to %d: %v", span, ends)
		}
	})

	t.Run("CoversTheWholeSpanFromTheSecondTurnOn", func(t *testing.T) {
		t.Parallel()
		for range 100 {
			id, first := uuid.New(), start.Add(time.Duration(time.Now().UnixNano()%int64(interval)))
			for turn := range 4 {
				n := vigil.TurnSlots(id, "eu-central-fra", first, interval, span)
				if turn > 0 && n != span {
					t.Fatalf("turn %d covers %d slots, want %d", turn, n, span)
				}
				first = first.Add(time.Duration(n) * interval)
			}
		}
	})

	t.Run("EndsTheTurnsOfTwoRegionsAtDifferentSlots", func(t *testing.T) {
		t.Parallel()
		different := 0
		for range 100 {
			id := uuid.New()
			if vigil.TurnSlots(id, "eu-central-fra", start, interval, span) != vigil.TurnSlots(id, "na-east-ewr", start, interval, span) {
				different++
			}
		}
		if different < 80 {
			t.Errorf("two regions end their turns at different slots for %d of 100 checks only", different)
		}
	})
}
