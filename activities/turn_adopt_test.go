// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestAdopt tests turns that go on at another worker than the one that began them.
func TestAdopt(t *testing.T) {
	t.Parallel()

	// lost ends the worker of a turn that goes on, and returns another one.
	lost := func(
		t *testing.T, change func(*vigil.Definition), options ...func(*activities.WatcherOptions),
	) (*apart, vigil.Definition, vigil.OpenTurn) {
		t.Helper()
		a := newApart(t)
		def := a.define(func(def *vigil.Definition) {
			def.Check.Interval = goOnInterval
			if change != nil {
				change(def)
			}
		})
		a.goOn(def)
		open := a.opened()
		next := newApart(t, options...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a.watcher.Drain(ctx)
		next.defs, next.rows = a.defs, a.rows
		next.renew(7)
		next.keep(7)
		return next, def, open
	}

	t.Run("GoesOnFromTheStoredResults", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			before := len(a.rows)
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			end := <-a.ended
			last := a.rows[len(a.rows)-1].Slot
			if end.err != nil || end.turn.ActivityID != open.ActivityID || !end.result.State.Slot.Equal(last) || len(a.rows) == before {
				t.Errorf("the turn ended with %+v after %d more results, the last of %v", end, len(a.rows)-before, last)
			}
			for i, row := range a.rows[2:] { // the first result of a check is not in step with the others
				if step := row.Slot.Sub(a.rows[i+1].Slot); step != def.Check.Interval {
					t.Errorf("result %d is %v after the one before it", i+2, step)
				}
			}
			for _, row := range a.written {
				if !row.Owned {
					t.Error("a result of an adopted turn is not owned")
				}
			}
		})
	})

	t.Run("BeginsAnotherTurnWhenItWasNotTheOpenOne", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			a.unknown = true
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			time.Sleep(10 * time.Minute)
			if a.mu.Lock(); !slices.Equal(a.repeated, []uuid.UUID{def.Check.ID}) {
				t.Errorf("turns of %v were repeated", a.repeated)
			}
			a.mu.Unlock()
		})
	})

	t.Run("YieldsToANewerTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			synctest.Wait()
			a.unknown = true // the workflow waits for the newer one
			newer := turnOf(def, vigil.State{})
			newer.Recover = true
			a.start(newer, plain)
			time.Sleep(10 * time.Minute)
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.calls != 2 || len(a.repeated) > 0 {
				t.Errorf("%d turns ended, and %d were repeated", a.calls, len(a.repeated))
			}
		})
	})

	t.Run("EndsAtOnceWithANewDefinition", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			a.revise(def, func(def *vigil.Definition) { def.Check.Interval = time.Hour })
			began := time.Now()
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			end := <-a.ended
			if end.err != nil || end.result.Revision != 2 || end.at.Sub(began) > 2*time.Second || a.probes() > 0 {
				t.Errorf("the turn ended after %v with %+v and %d probes", end.at.Sub(began), end, a.probes())
			}
		})
	})

	t.Run("SaysThatNoRuleFiresAnyMore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, _, open := lost(t, firing(vigil.Condition{FailureThreshold: 1}))
			a.voted, a.votedFires = a.rows[len(a.rows)-1].Slot.Add(-time.Second), true // that of the last result was not reported
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			end := <-a.ended
			if end.err != nil || end.result.End != vigil.TurnChanged || !end.result.Restarted || end.result.Reported || a.probes() > 0 {
				t.Errorf("the turn ended with %+v after %d probes", end, a.probes())
			}
		})
	})

	t.Run("SaysThatARuleFires", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, firing(vigil.Condition{FailureThreshold: 1}))
			failed := a.rows[len(a.rows)-1]
			failed.Slot = scheduleOf(def).Next(failed.Slot)
			failed.Success, failed.Error = false, "down"
			a.rows = append(a.rows, failed) // stored, and its vote was not
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			if end := <-a.ended; end.err != nil || end.result.End != vigil.TurnChanged || len(end.result.State.Firing) != 1 {
				t.Errorf("the turn ended with %+v", end)
			}
		})
	})

	t.Run("EndsWithItsNewsInABurst", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			votes := newManyVotes()
			a, _, open := lost(t, firing(vigil.Condition{FailureThreshold: 1}), func(o *activities.WatcherOptions) {
				o.Votes, o.Incidents = votes, votes
			})
			a.set(func() {
				a.observe = func(ctx context.Context) vigil.Observation {
					a.watcher.CountNews(time.Now())
					return fails(ctx)
				}
			})
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			end := <-a.ended
			if end.err != nil || end.result.End != vigil.TurnChanged || !end.result.Reported || a.probes() != 1 {
				t.Errorf("the turn ended with %+v after %d probes, with the vote %+v", end, a.probes(), votes.last)
			}
		})
	})
}
