// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestWatchAmongManyEnds tests what a turn does whose end falls among many others.
func TestWatchAmongManyEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others   int // loops that wait for their next turn
		interval time.Duration
		rate     float64
		away     bool // no turn begins
		failing  bool
		late     bool // slots of the process

		least, most int // slots of the turn, of which one was planned
	}{
		"GoesOnForAWhile":                      {others: 80, interval: 2 * time.Second, rate: tiny, least: 3, most: 4},
		"GoesOnWhileFewOthersWaitForLong":      {others: 4, interval: 2 * time.Second, rate: tiny, least: 2, most: 4},
		"EndsAsPlannedAmongFew":                {others: 2, interval: 2 * time.Second, rate: tiny, least: 1, most: 1},
		"EndsAsPlannedWithALongInterval":       {others: 80, interval: time.Minute, rate: tiny, least: 1, most: 1},
		"EndsAsPlannedWhereNoTurnBegins":       {others: 80, interval: 2 * time.Second, rate: tiny, away: true, least: 1, most: 1},
		"EndsAsPlannedWhereSlotsAreLate":       {others: 80, interval: 2 * time.Second, rate: tiny, late: true, least: 1, most: 1},
		"EndsAtOnceWithNews":                   {others: 80, interval: 2 * time.Second, rate: tiny, failing: true, least: 1, most: 1},
		"EndsAsPlannedWhereEachSlotHasItsTurn": {others: 80, interval: 2 * time.Second, least: 1, most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.TurnRate, o.QuietWindow = c.rate, 5*time.Minute })
				turn := w.started(w.define(every(c.interval)))
				if !c.away {
					w.keepTurning(w.define(every(300 * time.Millisecond)))
				}
				for range c.others {
					w.must(w.watch(turnOf(w.define(every(time.Hour)), vigil.State{})))
				}
				if c.failing {
					w.set(func() { w.observe = fails })
				}
				if c.late {
					late := w.started(w.define(every(200 * time.Millisecond)))
					for range 8 { // more of the slots of that time than one in ten
						time.Sleep(300 * time.Millisecond)
						late = turnOf(w.defs[late.CheckID], w.must(w.watch(late)).State)
					}
				}
				before := w.slotsOf(turn.CheckID)
				w.must(w.watch(turn))
				if probed := w.slotsOf(turn.CheckID) - before; probed < c.least || probed > c.most {
					t.Errorf("%d slots, want %d to %d", probed, c.least, c.most)
				}
			})
		})
	}
}

// every gives a check an interval.
func every(interval time.Duration) func(*vigil.Definition) {
	return func(d *vigil.Definition) {
		d.Check.Interval = interval
		d.Check.Anchor = vigil.NewAnchor(d.Check.ID, time.Now(), interval)
	}
}

// keepTurning runs the turns of a loop until the test ends, as they begin and end while
// Temporal answers.
func (w *watchFixture) keepTurning(def vigil.Definition) {
	turn := w.started(def)
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	w.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		for {
			turn.Revision-- // a turn with a newer definition covers one slot
			result, err := w.watchIn(ctx, turn)
			if err != nil {
				return
			}
			turn = turnOf(def, result.State)
		}
	}()
}

// slotsOf returns how many results of a check are stored.
func (w *watchFixture) slotsOf(check uuid.UUID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, row := range w.rows {
		if row.CheckID == check {
			n++
		}
	}
	return n
}
