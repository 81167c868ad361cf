// SPDX-License-Identifier: Apache-2.0

package pace_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/pace"
)

// TestBudgetOfArrivals proves that loops whose results arrive take wide turns once the budget is less than all slots, and
// leave the budget to those that probe.
func TestBudgetOfArrivals(t *testing.T) {
	t.Parallel()
	const window, arrivals = 30 * time.Minute, 6 * time.Hour
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	b := pace.NewBudget(5, 5)
	run := func(n int, arrives bool) (keys []pace.Loop) {
		for range n {
			key := pace.Loop{Check: uuid.New(), Region: "r"}
			b.Run(key, time.Minute, arrives, now)
			keys = append(keys, key)
		}
		return keys
	}
	want := func(when string, probed int, why vigil.TurnReason, arrived int, whyArrived vigil.TurnReason) {
		t.Helper()
		if most, reason := b.Most(now, time.Minute, window, false); most != probed || reason != why {
			t.Errorf("%s: a turn that probes has %d slots, %s; want %d, %s", when, most, reason, probed, why)
		}
		if most, reason := b.Most(now, time.Minute, arrivals, true); most != arrived || reason != whyArrived {
			t.Errorf("%s: a turn of arrivals has %d slots, %s; want %d, %s", when, most, reason, arrived, whyArrived)
		}
	}
	run(150, false)
	jobs := run(150, true)
	want("within the budget", 1, vigil.TurnEverySlot, 1, vigil.TurnEverySlot)
	run(10_000, true)
	want("with 10,150 jobs", 1, vigil.TurnEverySlot, 360, vigil.TurnWindow)
	run(1000, false)
	want("with 1,150 checks that probe", 4, vigil.TurnBudget, 360, vigil.TurnWindow)
	for _, key := range jobs { // they probe from now on
		b.Run(key, time.Minute, false, now)
	}
	want("with 1,300 checks that probe", 5, vigil.TurnBudget, 360, vigil.TurnWindow)
}

// TestBudgetBeyondOneSlotATurn proves that a process makes a turn for each slot up to its rate, and fewer turns beyond.
func TestBudgetBeyondOneSlotATurn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	b := pace.NewBudget(5, 1.5)
	var keys []pace.Loop
	run := func(n int) {
		for range n {
			keys = append(keys, pace.Loop{Check: uuid.New(), Region: "r"})
			b.Run(keys[len(keys)-1], time.Minute, false, now)
		}
	}
	want := func(when string, slots int, rate float64) {
		t.Helper()
		if most, _ := b.Most(now, time.Minute, 6*time.Hour, false); most != slots {
			t.Errorf("%s: a turn has %d slots, want %d", when, most, slots)
		}
		if f := b.Figures(now); f.Rate != rate || f.Slots != slots {
			t.Errorf("%s: %+v, want %d slots and %g turns a second", when, f, slots, rate)
		}
	}
	run(300)
	want("5 slots a second", 1, 5)
	run(1)
	want("one more", 4, 1.5)
	run(9_699)
	want("10,000 checks", 112, 1.5)
	for _, key := range keys[301:] {
		b.End(key, false, now)
	}
	now = now.Add(time.Hour)
	want("301 again", 4, 1.5)
	for _, key := range keys[265:301] { // a tenth less
		b.End(key, false, now)
	}
	now = now.Add(time.Hour)
	want("265", 1, 5)
}
