// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

func TestQuietWindow(t *testing.T) {
	t.Parallel()

	t.Run("DoublesToTheWindowAndReturnsToOneAfterAChange", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def := w.define(nil)
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			var spans []int
			for range 5 {
				turn := turnOf(def, result.State)
				turn.Span = result.Span
				spans = append(spans, result.Span)
				result = w.must(w.watch(turn))
			}
			if want := []int{1, 2, 4, 5, 5}; !slices.Equal(spans, want) {
				t.Errorf("spans %v, want %v", spans, want)
			}
			w.observe = fails
			turn := turnOf(def, result.State)
			turn.Span = result.Span
			before := len(w.rows)
			result = w.must(w.watch(turn))
			if result.End != vigil.TurnChanged || result.Span != 1 || len(w.rows) != before+1 {
				t.Errorf("a failure was reported with end %s, span %d, after %d slots", result.End, result.Span, len(w.rows)-before)
			}
			for range 4 {
				turn := turnOf(def, result.State)
				turn.Span = result.Span
				result = w.must(w.watch(turn))
			}
			if result.Span != 5 {
				t.Errorf("a steady failure has span %d, want 5", result.Span)
			}
		})
	})
}

// TestQuietWindowInterrupted tests how a turn of many slots ends early.
func TestQuietWindowInterrupted(t *testing.T) {
	t.Parallel()

	t.Run("EndsWithTheSlotAfterAChangeOfTheDefinition", func(t *testing.T) {
		t.Parallel()
		for _, covered := range []int{1, 2} {
			synctest.Test(t, func(t *testing.T) {
				w := newWatchFixture(t, wide)
				def, turn := grown(w)
				changed := scheduleOf(def).Next(turn.State.Slot).Add(time.Duration(covered-1)*def.Check.Interval + time.Second)
				time.AfterFunc(time.Until(changed), func() {
					w.define(func(d *vigil.Definition) {
						*d = def
						d.Check.Revision, d.Check.Interval = 2, time.Hour
					})
				})
				result := w.must(w.watch(turn))
				if result.End != vigil.TurnChanged || result.Span != 1 || result.Revision != 2 {
					t.Errorf("end %s, span %d, revision %d", result.End, result.Span, result.Revision)
				}
				if late := time.Since(changed); len(w.rows) != 1+covered || late > 5*time.Second {
					t.Errorf("%d rows, and the turn ended %v after the change; want %d, and at once", len(w.rows), late, 1+covered)
				}
			})
		}
	})

	t.Run("HandsOverWithTheSlotsThatItCovered", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def, turn := grown(w)
			stop := make(chan struct{})
			third := scheduleOf(def).Next(turn.State.Slot).Add(2 * def.Check.Interval)
			time.AfterFunc(time.Until(third)+time.Second, func() { close(stop) })
			result := w.must(w.watchUntil(turn, stop))
			if result.End != vigil.TurnHandOver || !result.State.Slot.Equal(third) || result.Span != turn.Span {
				t.Errorf("end %s at %v with span %d, want a hand-over at %v", result.End, result.State.Slot, result.Span, third)
			}
			if !result.Next.Equal(third.Add(def.Check.Interval)) {
				t.Errorf("next %v", result.Next)
			}
		})
	})

	t.Run("LosesNoResultWhenAnotherTurnTakesOver", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			def, turn := grown(w)
			lost := make(chan error, 1)
			go func() {
				_, err := w.watch(turn)
				lost <- err
			}()
			time.Sleep(4 * def.Check.Interval)
			before := len(w.rows)
			again := turnOf(def, turn.State) // the state that the workflow has
			again.Recover = true
			result := w.must(w.watch(again))
			if err := <-lost; err == nil {
				t.Error("the older turn ended as if nothing had happened")
			}
			if before < 4 || len(w.rows) != before+1 || !result.State.Slot.Equal(w.rows[before].Slot) {
				t.Errorf("%d rows and then %d, the state is at %v", before, len(w.rows), result.State.Slot)
			}
		})
	})
}

// wide makes turns cover up to five minutes: there are tokens for twenty turns, and no
// more.
func wide(o *activities.WatcherOptions) { o.TurnRate, o.QuietWindow = tiny, 5*time.Minute }

// tiny is a budget of turns that every loop exceeds.
const tiny = 1e-6

// grown returns a check that has a result, and a next turn of five slots.
func grown(w *watchFixture) (vigil.Definition, activities.Turn) {
	def := w.define(inPhase(5))
	turn := w.started(def)
	turn.Span = 5
	return def, turn
}
