package activities_test

import (
	"testing"
	"testing/synctest"
	"time"

	"vigil"
	"vigil/activities"
)

// TestWatchAmongManyEnds tests what a turn does whose end falls among many others.
func TestWatchAmongManyEnds(t *testing.T) {
	t.Parallel()
	every := func(interval time.Duration) func(*vigil.Definition) {
		return func(d *vigil.Definition) {
			d.Check.Interval = interval
			d.Check.Anchor = vigil.NewAnchor(d.Check.ID, time.Now(), interval)
		}
	}
	// begin returns a turn of one slot that begins when some others have ended.
	begin := func(w *watchFixture, others int, interval time.Duration) activities.Turn {
		turn := w.started(w.define(every(interval)))
		for range others {
			w.must(w.watch(turnOf(w.define(every(time.Hour)), vigil.State{})))
		}
		return turn
	}

	t.Run("GoesOnUntilTheOthersHaveTurnsOrAreForgotten", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			turn := begin(w, 80, 2*time.Second)
			ended := time.Now()
			result := w.must(w.watch(turn))
			if result.End != activities.Covered || result.State.Health != vigil.Healthy {
				t.Fatalf("result %+v", result)
			}
			if took := time.Since(ended); took < 5*time.Second || took > 8*time.Second {
				t.Errorf("the turn ended after %v, want after the 5s in which the others count", took)
			}
		})
	})

	t.Run("GoesOnWhileFewOthersWaitForLong", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, wide)
			turn := begin(w, 4, 2*time.Second)
			rows := len(w.rows)
			w.must(w.watch(turn))
			if probed := len(w.rows) - rows; probed < 2 {
				t.Errorf("%d slots, want more than the one that was planned", probed)
			}
		})
	})

	for name, c := range map[string]struct {
		others   int
		interval time.Duration
		failing  bool
		rate     float64
	}{
		"EndsAsPlannedAmongFew":                {others: 3, interval: 2 * time.Second, rate: tiny},
		"EndsAsPlannedWithALongInterval":       {others: 80, interval: time.Minute, rate: tiny},
		"EndsAtOnceWithNews":                   {others: 80, interval: 2 * time.Second, failing: true, rate: tiny},
		"EndsAsPlannedWhereEachSlotHasItsTurn": {others: 80, interval: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.TurnRate = c.rate })
				turn := begin(w, c.others, c.interval)
				if c.failing {
					w.observe = fails
				}
				rows := len(w.rows)
				w.must(w.watch(turn))
				if probed := len(w.rows) - rows; probed != 1 {
					t.Errorf("%d slots, want the one that was planned", probed)
				}
			})
		})
	}
}
