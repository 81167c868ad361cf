package activities_test

import (
	"testing"
	"testing/synctest"
	"time"

	"vigil"
	"vigil/activities"
)

// TestWatchPlan tests the plan of the next turn.
func TestWatchPlan(t *testing.T) {
	t.Parallel()

	t.Run("CoversFromNextUntilTheLastSlotOfItsSpan", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def := w.define(nil)
			turn := w.started(def)
			turn.Span = 2
			result := w.must(w.watch(turn))
			if result.End != activities.Covered || result.Span != 4 || result.Deadline != probeDeadline {
				t.Fatalf("result %+v", result)
			}
			if want := scheduleOf(def).Next(result.State.Slot); !result.Next.Equal(want) {
				t.Errorf("next %v, want %v", result.Next, want)
			}
			if want := result.Next.Add(3 * def.Check.Interval); !result.Until.Equal(want) {
				t.Errorf("until %v, want %v, three intervals later", result.Until, want)
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
			if result.End != activities.Changed || result.Span != 1 || result.Next.IsZero() || !result.Until.Equal(result.Next) {
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
			if result := w.must(w.watch(turn)); result.End != activities.Changed || len(w.rows) != 2 {
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
			if result.End != activities.Covered || len(w.rows) != 2 || result.Span != 1 {
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
			if result := w.must(w.watchUntil(turn, stop)); result.End != activities.HandOver || result.Span != 1 || result.Revision != 2 {
				t.Errorf("hand-over %+v, want revision 2 and one slot", result)
			}
			result := w.must(w.watch(turn))
			if result.End != activities.Covered || result.Revision != 2 || len(w.rows) != 2 {
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
				if result := w.must(w.watchUntil(turn, stop)); result.End != activities.HandOver || result.Span != want {
					t.Errorf("end %s with span %d of %d, want %d", result.End, result.Span, span, want)
				}
			}
		})
	})

	t.Run("KeepsTheWordsOfRecordedHistories", func(t *testing.T) {
		t.Parallel()
		for end, want := range map[activities.End]string{
			activities.Covered: "covered", activities.Changed: "changed", activities.HandOver: "handover", activities.Gone: "gone",
		} {
			if string(end) != want {
				t.Errorf("%q is %q in recorded histories", end, want)
			}
		}
	})
}
