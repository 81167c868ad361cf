// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestWatchSlots tests which slots a turn probes, and when.
func TestWatchSlots(t *testing.T) {
	t.Parallel()

	t.Run("ProbesSlotZeroImmediatelyAndTheNextAtItsTime", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			first := w.must(w.watch(turnOf(def, vigil.State{})))
			if !first.State.Slot.Equal(def.Starts[region]) || first.End != vigil.TurnChanged {
				t.Errorf("first turn: slot %v end %s, want %v and changed", first.State.Slot, first.End, def.Starts[region])
			}
			second := w.must(w.watch(turnOf(def, first.State)))
			want := scheduleOf(def).Next(def.Starts[region])
			if !second.State.Slot.Equal(want) || !w.runs[1].Equal(want) {
				t.Errorf("second slot %v probed at %v, want both at %v", second.State.Slot, w.runs[1], want)
			}
			if second.End != vigil.TurnCovered || second.Span != 1 {
				t.Errorf("second turn: %+v", second)
			}
		})
	})

	t.Run("ProbesOnlyTheNewestMissedSlot", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			time.Sleep(10*time.Minute + 7*time.Second)
			newest, _ := scheduleOf(def).Newest(time.Now())
			result := w.must(w.watch(turnOf(def, state)))
			if !result.State.Slot.Equal(newest) || len(w.runs) != 2 {
				t.Errorf("slot %v after %d probes, want %v after 2", result.State.Slot, len(w.runs), newest)
			}
		})
	})

	t.Run("EndsAfterTheResultThatMakesARuleFire", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.TurnRate, o.QuietWindow = tiny, time.Hour })
			def := w.define(func(d *vigil.Definition) {
				inPhase(60)(d)
				firing(vigil.Condition{FailureThreshold: 3})(d)
			})
			w.observe = fails
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			turn := turnOf(def, result.State)
			turn.Span = 60
			result = w.must(w.watch(turn))
			if result.End != vigil.TurnChanged || result.State.Failures != 3 || !slices.Equal(result.State.Firing, []uuid.UUID{def.Rules[0].ID}) {
				t.Errorf("end %s with state %+v", result.End, result.State)
			}
		})
	})
}

// startedAgo moves the start of a check into the past.
func startedAgo(d time.Duration) func(*vigil.Definition) {
	return func(def *vigil.Definition) {
		start := time.Now().Add(-d)
		def.Starts = map[string]time.Time{region: start}
		def.Check.Anchor = vigil.NewAnchor(def.Check.ID, start, def.Check.Interval)
	}
}
