// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fair"
)

// TestWatchPlan tests the plan of the next turn.
func TestWatchPlan(t *testing.T) {
	t.Parallel()

	t.Run("CoversFromNextUntilTheLastSlotOfItsSpan", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def := w.define(inPhase(2))
			turn := w.started(def)
			turn.Span = 2
			result := w.must(w.watch(turn))
			if result.End != vigil.TurnCovered || result.Span != 4 {
				t.Fatalf("result %+v", result)
			}
			if want := scheduleOf(def).Next(result.State.Slot); !result.Next.Equal(want) {
				t.Errorf("next %v, want %v", result.Next, want)
			}
			if len(w.runs) != 3 {
				t.Errorf("%d probes, want the first turn's and 2", len(w.runs))
			}
		})
	})

	t.Run("EndsAtItsOnlySlotAfterAChange", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			turn := w.started(w.define(nil))
			turn.Span = 4
			w.observe = fails
			result := w.must(w.watch(turn))
			if result.End != vigil.TurnChanged || result.Span != 1 || result.Next.IsZero() {
				t.Errorf("result %+v", result)
			}
		})
	})

	t.Run("EndsWhenARuleFiresAndHealthIsUnchanged", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			w.observe = fails
			turn := w.started(w.define(firing(vigil.Condition{FailureThreshold: 2})))
			turn.Span = 4
			if result := w.must(w.watch(turn)); result.End != vigil.TurnChanged || len(w.rows) != 2 {
				t.Errorf("end %s after %d rows, want changed after 2", result.End, len(w.rows))
			}
		})
	})

	t.Run("CoversOneSlotWhenTheIntervalIsLongerThanTheWindow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def := w.define(func(d *vigil.Definition) { d.Check.Interval = 6 * time.Minute })
			turn := w.started(def)
			turn.Span = 4
			result := w.must(w.watch(turn))
			if result.End != vigil.TurnCovered || len(w.rows) != 2 || result.Span != 1 {
				t.Errorf("end %s with span %d after %d rows, want covered with 1 after 2", result.End, result.Span, len(w.rows))
			}
		})
	})
}

// TestWatchPlanSpan tests how many slots the next turn gets.
func TestWatchPlanSpan(t *testing.T) {
	t.Parallel()

	t.Run("CoversOneSlotWithADefinitionThatTheLoopDoesNotKnow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def := w.define(nil)
			turn := w.started(def)
			turn.Span = 4
			w.revise(def, func(*vigil.Definition) {})
			time.Sleep(2 * time.Second)
			stop := make(chan struct{})
			close(stop)
			if result := w.must(w.watchUntil(turn, stop)); result.End != vigil.TurnHandOver || result.Span != 1 || result.Revision != 2 {
				t.Errorf("hand-over %+v, want revision 2 and one slot", result)
			}
			result := w.must(w.watch(turn))
			if result.End != vigil.TurnCovered || result.Revision != 2 || len(w.rows) != 2 {
				t.Errorf("end %s with revision %d after %d rows", result.End, result.Revision, len(w.rows))
			}
		})
	})

	t.Run("HandsOverWithASpanWithinTheWindow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			turn := w.started(w.define(nil))
			stop := make(chan struct{})
			close(stop)
			for span, want := range map[int]int{3: 3, 50: 5} {
				turn.Span = span
				if result := w.must(w.watchUntil(turn, stop)); result.End != vigil.TurnHandOver || result.Span != want {
					t.Errorf("end %s with span %d of %d, want %d", result.End, result.Span, span, want)
				}
			}
		})
	})

	t.Run("KeepsTheWordsOfRecordedHistories", func(t *testing.T) {
		t.Parallel()
		for end, want := range map[vigil.TurnEnd]string{
			vigil.TurnCovered: "covered", vigil.TurnChanged: "changed", vigil.TurnHandOver: "handover", vigil.TurnGone: "gone",
		} {
			if string(end) != want {
				t.Errorf("%q is %q in recorded histories", end, want)
			}
		}
	})
}

// TestWatchEnd tests that a turn ends by its planned time and not after a count of results.
func TestWatchEnd(t *testing.T) {
	t.Parallel()

	t.Run("EndsByItsLastSlotWhenProbesAreLate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def := w.define(func(d *vigil.Definition) {
				d.Check.Interval = 2 * time.Second
				inPhase(20)(d)
			})
			turn := w.started(def)
			turn.Span = 20
			first := scheduleOf(def).Next(turn.State.Slot)
			last := first.Add(19 * 2 * time.Second)
			w.observe = takes(5 * time.Second)
			result := w.must(w.watch(turn))
			if result.End != vigil.TurnLate || result.State.Slot.After(last) || time.Now().After(last.Add(5*time.Second)) {
				t.Errorf("end %s at %v with slot %v, planned until %v", result.End, time.Now(), result.State.Slot, last)
			}
			if n := len(w.runs); n != 9 {
				t.Errorf("%d probes, want that of slot zero and 8 of 5 s in 38 s", n)
			}
			if result.Span != 20 || !result.Next.After(result.State.Slot) {
				t.Errorf("the next turn is planned as %+v", result)
			}
		})
	})

	t.Run("ReturnsWhenNoPlaceIsFreeBeforeItsTimeout", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			queue := fair.New(places(1))
			w := newWatchFixture(t, wide, func(o *activities.WatcherOptions) { o.Probes = queue })
			turn := w.started(w.define(nil))
			held := queue.Join(fair.Claim{Organization: "another"})
			defer held.Leave()
			began := time.Now()
			result := w.must(w.watch(turn))
			// The timeout of an activity is ten minutes here.
			if took := time.Since(began); result.End != vigil.TurnLate || took != 10*time.Minute-probeDeadline-10*time.Second {
				t.Errorf("end %s after %v", result.End, took)
			}
			if len(w.runs) != 1 || !result.State.Slot.Equal(turn.State.Slot) || queue.Waiting() != 0 {
				t.Errorf("%d probes, state %+v, %d wait", len(w.runs), result.State, queue.Waiting())
			}
		})
	})

	t.Run("ProbesTheNewestSlotAfterAWaitForAPlace", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			queue := fair.New(places(1))
			w := newWatchFixture(t, wide, func(o *activities.WatcherOptions) { o.Probes = queue })
			def := w.define(nil)
			turn := w.started(def)
			slot := scheduleOf(def).Next(turn.State.Slot)
			held := queue.Join(fair.Claim{Organization: "another"})
			time.AfterFunc(time.Until(slot)+150*time.Second, func() { held.Leave() })
			result := w.must(w.watch(turn))
			if want := slot.Add(2 * time.Minute); !result.State.Slot.Equal(want) || len(w.runs) != 2 {
				t.Errorf("slot %v after %d probes, want %v after 2", result.State.Slot, len(w.runs), want)
			}
			if load := w.watcher.Load(); load.Lateness != 150*time.Second || load.Overloaded {
				t.Errorf("load %+v, want 150 s late, from the first slot that was due", load)
			}
		})
	})

	for name, end := range map[string]func(w *watchFixture, def vigil.Definition, stop chan struct{}){
		"EndsItsWaitForAPlaceWhenTheWorkerStops": func(_ *watchFixture, _ vigil.Definition, stop chan struct{}) { close(stop) },
		"EndsItsWaitForAPlaceWhenTheCheckIsDisabled": func(w *watchFixture, def vigil.Definition, _ chan struct{}) {
			w.revise(def, func(d *vigil.Definition) { d.Check.Enabled = false })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				queue := fair.New(places(1))
				w := newWatchFixture(t, wide, func(o *activities.WatcherOptions) { o.Probes = queue })
				def := w.define(nil)
				turn := w.started(def)
				held := queue.Join(fair.Claim{Organization: "another"})
				defer held.Leave()
				stop := make(chan struct{})
				time.AfterFunc(time.Until(scheduleOf(def).Next(turn.State.Slot))+time.Second, func() { end(w, def, stop) })
				result := w.must(w.watchUntil(turn, stop))
				if end := result.End; end != vigil.TurnHandOver && end != vigil.TurnGone || len(w.runs) != 1 || queue.Waiting() != 0 {
					t.Errorf("end %s after %d probes, %d wait", result.End, len(w.runs), queue.Waiting())
				}
			})
		})
	}
}
