// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// machineLine is a line of this machine that is lost for some of the attempts.
type machineLine struct {
	mu       sync.Mutex
	attempts int
	lost     func(attempt int) bool // by the number of the attempt, from 1
	asked    []bool                 // freshness of the failures that were judged
	targets  []string
}

func (l *machineLine) Follow(ctx context.Context, target string) (context.Context, func(context.Context, bool) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts++
	l.targets = append(l.targets, target)
	attempt := l.attempts
	return ctx, func(_ context.Context, fresh bool) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked = append(l.asked, fresh)
		return l.lost(attempt)
	}
}

// withLine makes a watcher judge failures by a line.
func withLine(l *machineLine) func(*activities.WatcherOptions) {
	return func(opts *activities.WatcherOptions) { opts.Line = l }
}

func TestLostLine(t *testing.T) {
	t.Parallel()

	t.Run("FailuresWithoutALineAreMissed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := &machineLine{lost: func(attempt int) bool { return attempt == 3 || attempt == 4 }}
			w := newWatchFixture(t, withLine(l))
			w.observe = sees(vigil.Observation{Success: true}, vigil.Observation{Success: true}, failure("no route"), failure("no route"),
				vigil.Observation{Success: true}, failure("down"), failure("down"))
			def := w.define(nil)
			began, state := time.Now(), vigil.State{}
			for range 7 {
				state = w.must(w.watch(turnOf(def, state))).State
			}
			var slots []int
			for _, row := range w.rows {
				slots = append(slots, int(row.Slot.Sub(began).Round(time.Minute)/time.Minute))
			}
			if len(w.rows) != 5 || !w.rows[2].Success || w.rows[3].Success || state.Failures != 2 {
				t.Errorf("rows of the slots %v, and the state %+v", slots, state)
			}
			// A failure is fresh after a success, also when slots without a line lie between.
			if want := []bool{true, true, true, false}; !slices.Equal(l.asked, want) {
				t.Errorf("judged %v, want %v", l.asked, want)
			}
			if l.targets[0] != "memory" {
				t.Errorf("follows %q", l.targets[0])
			}
		})
	})

	t.Run("TheLastAttemptCounts", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]struct {
			lost int // the attempt without a line
			sees []vigil.Observation
			rows int
		}{
			"FirstLost":   {1, []vigil.Observation{failure("one"), failure("two"), failure("three")}, 1},
			"LastLost":    {3, []vigil.Observation{failure("one"), failure("two"), failure("three")}, 0},
			"Recovered":   {3, []vigil.Observation{failure("one"), failure("two"), {Success: true}}, 1},
			"NotAnswered": {2, []vigil.Observation{failure("one"), failure("two"), {Unavailable: true, Error: "no permission"}}, 0},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := &machineLine{lost: func(attempt int) bool { return attempt == c.lost }}
					w := newWatchFixture(t, withLine(l))
					w.observe = sees(c.sees...)
					def := w.define(retrying(vigil.Retry{Attempts: 2, Delay: time.Second}))
					state := w.must(w.watch(turnOf(def, vigil.State{}))).State
					if len(w.rows) != c.rows || state.Unstored != (c.rows == 0) || len(w.runs) != 3 {
						t.Errorf("%d attempts, rows %+v, state %+v", len(w.runs), w.rows, state)
					}
				})
			})
		}
	})

	t.Run("SuccessIsNotJudged", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := &machineLine{lost: func(int) bool { return true }}
			w := newWatchFixture(t, withLine(l))
			def := w.define(nil)
			w.must(w.watch(turnOf(def, vigil.State{})))
			if len(w.rows) != 1 || l.asked != nil {
				t.Errorf("rows %+v, judged %v", w.rows, l.asked)
			}
		})
	})

	t.Run("HasTarget", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			def := w.define(nil)
			w.define(func(def *vigil.Definition) { def.Check.Enabled = false })
			w.define(func(def *vigil.Definition) { def.Starts = map[string]time.Time{"na-east-ewr": time.Now()} })
			if err := w.catalogue.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			var seen []string
			matches := func(result bool) func(string) bool {
				return func(target string) bool {
					seen = append(seen, target)
					return result
				}
			}
			if w.catalogue.HasTarget(matches(false)) || !reflect.DeepEqual(seen, []string{"memory"}) {
				t.Errorf("asks about %v, want the target of %s only", seen, def.Check.ID)
			}
			if !w.catalogue.HasTarget(matches(true)) {
				t.Error("the target is not found")
			}
		})
	})
}
