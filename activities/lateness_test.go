// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// TestLoad tests when a process counts as overloaded.
func TestLoad(t *testing.T) {
	t.Parallel()
	// probe runs the turns of a check of a second's interval for a while.
	probe := func(w *watchFixture, def vigil.Definition, turn activities.Turn, takesEach, during time.Duration) activities.Turn {
		w.set(func() { w.observe = takes(takesEach) })
		for until := time.Now().Add(during); time.Now().Before(until); {
			turn = turnOf(def, w.must(w.watch(turn)).State)
		}
		return turn
	}

	t.Run("BeginsAfterTenLateSecondsAndEndsAfterTenGoodOnes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(every(200 * time.Millisecond))
			turn := probe(w, def, w.started(def), 0, 20*time.Second)
			if load := w.watcher.Load(); load != (fleet.Load{}) {
				t.Errorf("on time: %+v", load)
			}
			// Each probe takes 0.9 s: a probe begins 0.7 s after the slot that follows the
			// last one.
			turn = probe(w, def, turn, 900*time.Millisecond, 30*time.Second)
			if load := w.watcher.Load(); load.Overloaded || load.Lateness < 500*time.Millisecond {
				t.Errorf("slots late by less than a second: %+v", load)
			}
			w.set(func() { w.observe = nil })
			began := time.Now()
			var at time.Time
			for at.IsZero() && time.Since(began) < time.Minute {
				time.Sleep(1300 * time.Millisecond) // the worker is late with every turn
				turn = turnOf(def, w.must(w.watch(turn)).State)
				if load := w.watcher.Load(); load.Overloaded {
					at = load.Since
				}
			}
			if took := at.Sub(began); took < 9*time.Second || took > 13*time.Second {
				t.Errorf("overloaded after %v of late slots, want 10 s", took)
			}
			turn = probe(w, def, turn, 0, 9*time.Second)
			if !w.watcher.Load().Overloaded {
				t.Error("calm within 9 s")
			}
			probe(w, def, turn, 0, 3*time.Second)
			if load := w.watcher.Load(); load.Overloaded || load.Lateness > time.Millisecond {
				t.Errorf("after 12 s on time: %+v", load)
			}
		})
	})

	t.Run("BeginsWhenLoopsThatWaitForTheirTurnMissSlots", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			steady := w.define(every(50 * time.Millisecond))
			turn := w.started(steady)
			var waiting [8]activities.Turn
			for i := range waiting {
				waiting[i] = w.started(w.define(every(time.Second)))
			}
			// Each second has 20 slots on time, and the first one of a loop that missed seven.
			for i := range 24 {
				turn = probe(w, steady, turn, 0, time.Second)
				late := &waiting[i%len(waiting)]
				*late = turnOf(w.defs[late.CheckID], w.must(w.watch(*late)).State)
			}
			if load := w.watcher.Load(); !load.Overloaded {
				t.Errorf("a quarter of the slots is missed: %+v", load)
			}
		})
	})

	t.Run("IgnoresWhatAnOutageDelayedAndTargetsThatHang", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(every(2 * time.Second))
			turn := w.started(def)
			for range 15 {
				time.Sleep(5 * time.Second)
				turn.Recover = true
				turn = turnOf(def, w.must(w.watch(turn)).State)
			}
			if load := w.watcher.Load(); load != (fleet.Load{}) {
				t.Errorf("turns after an outage: %+v", load)
			}
			probe(w, def, turn, 8*time.Second, time.Minute)
			if load := w.watcher.Load(); load != (fleet.Load{}) {
				t.Errorf("a target that answers after 8 s: %+v", load)
			}
		})
	})
}
