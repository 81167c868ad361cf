// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// without begins a turn of one slot of a check, after which Temporal does not take so many ends of turns.
func (a *apart) without(away int, change func(*vigil.Definition)) vigil.Definition {
	a.Helper()
	return a.withoutFrom(away, change, plain)
}

// withoutFrom is without in a test environment that is prepared.
func (a *apart) withoutFrom(away int, change func(*vigil.Definition), prepare func(*testsuite.TestActivityEnvironment)) vigil.Definition {
	a.Helper()
	a.keep(1)
	def := a.define(func(def *vigil.Definition) {
		def.Check.Interval = goOnInterval
		if change != nil {
			change(def)
		}
	})
	turn := a.end(def, turnOf(def, vigil.State{}), plain)
	a.mu.Lock()
	a.away = a.calls + away
	a.mu.Unlock()
	a.start(turn, prepare)
	return def
}

// answer makes Temporal take the ends of turns.
func (a *apart) answer() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = 0
}

// endOfNewer returns the end of a turn that has superseded one, whose activity Temporal knows as completed.
func (a *apart) endOfNewer() completion {
	a.Helper()
	if end := <-a.ended; !errors.Is(end.err, activities.ErrSuperseded) {
		a.Fatalf("the turn that went on ended with %+v", end)
	}
	return <-a.ended
}

// wantEverySlot checks that each slot of the check was probed and stored, and when.
func (a *apart) wantEverySlot(def vigil.Definition, least int) {
	a.Helper()
	a.watchFixture.mu.Lock()
	defer a.watchFixture.mu.Unlock()
	if len(a.rows) < least {
		a.Fatalf("%d results, want %d at least", len(a.rows), least)
	}
	for i, row := range a.rows {
		if late := row.Time.Sub(row.Slot); i > 0 && (late > time.Millisecond || !row.Slot.Equal(scheduleOf(def).Next(a.rows[i-1].Slot))) {
			a.Errorf("result %d has slot %v, %v late, after %v", i, row.Slot, late, a.rows[i-1].Slot)
		}
	}
}

// TestTurnAhead tests what turns do while Temporal does not take their ends.
func TestTurnAhead(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]bool{"GoesOnWhileTemporalIsAway": false, "GoesOnWhileTemporalDoesNotAnswer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newApart(t)
				a.hangs = hangs
				def := a.without(4, nil)
				end := <-a.ended
				a.wantEverySlot(def, 6)
				newest := a.rows[len(a.rows)-1].Slot
				if end.err != nil || end.result.End != vigil.TurnCovered || !end.result.State.Slot.Equal(newest) {
					t.Errorf("the turn ended with %+v, the newest slot is %v", end, newest)
				}
				for i, row := range a.written[2:] {
					if last := i == len(a.written)-3; !row.Owned || row.Turn == nil && !last {
						t.Errorf("result %d of a turn that goes on is owned %v and names %v", i+2, row.Owned, row.Turn)
					}
				}
				if time.Sleep(10 * time.Minute); len(a.ended) > 0 || a.log.count("Temporal answers again") != 1 {
					t.Errorf("%d more ends, log:\n%s", len(a.ended), a.log.text.String())
				}
			})
		})
	}

	t.Run("OneTriesForAll", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.hangs = true
			first := a.without(1000, nil)
			defs := []vigil.Definition{first}
			time.Sleep(15 * time.Second) // sleep: in a bubble only
			for range 19 {
				def := a.define(func(def *vigil.Definition) { def.Check.Interval = goOnInterval })
				defs = append(defs, def)
				turn := turnOf(def, vigil.State{Slot: scheduleOf(def).Due(time.Time{}, time.Now()), Health: vigil.Healthy})
				turn.By = "test"
				a.start(turn, plain)
			}
			a.mu.Lock()
			before := len(a.tries)
			a.mu.Unlock()
			time.Sleep(2 * time.Minute) // sleep: in a bubble only
			a.mu.Lock()
			if tries := len(a.tries) - before; tries > 60 || tries < 10 {
				t.Errorf("%d tries in two minutes", tries)
			}
			a.mu.Unlock()
			a.answer()
			for range defs {
				if end := <-a.ended; end.err != nil || end.result.End != vigil.TurnCovered {
					t.Errorf("a turn ended with %+v", end)
				}
			}
		})
	})

	t.Run("UsesANewDefinition", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			def := a.without(8, nil)
			time.Sleep(2 * goOnInterval) // sleep: in a bubble only
			a.revise(def, func(d *vigil.Definition) { d.Check.Name = "renamed" })
			end := <-a.ended
			a.wantEverySlot(def, 8)
			if end.err != nil || end.result.Revision != 2 {
				t.Errorf("the turn ended with %+v", end)
			}
		})
	})

	t.Run("KeepsAVoteForItsLoop", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.failTwice()
			def := a.without(1000, firing(vigil.Condition{FailureThreshold: 2}))
			time.Sleep(8 * goOnInterval) // sleep: in a bubble only
			a.answer()
			end := <-a.ended
			a.wantEverySlot(def, 8)
			// The second failure fires. The loop reports that vote, and then what followed, from the stored results.
			if state := end.result.State; end.err != nil || len(state.Firing) != 1 || !state.Slot.Equal(a.rows[4].Slot) || !end.result.Behind {
				t.Errorf("the turn ended with %+v, the second failure is of %v", end, a.rows[4].Slot)
			}
			for i, row := range a.written[5:] { // one that adopted it would not see that there was an episode
				if row.Turn != nil {
					t.Errorf("result %d names the turn that owes a vote", i+5)
				}
			}
			turn := turnOf(def, end.result.State)
			turn.Recover, turn.By = true, "test"
			a.start(turn, plain)
			if end = a.endOfNewer(); end.err != nil || len(end.result.State.Firing) != 0 || !end.result.State.Slot.Equal(a.rows[5].Slot) {
				t.Errorf("the turn after it ended with %+v", end)
			}
		})
	})

	for name, hangs := range map[string]bool{"GivesAVoteBeforeItsNextSlot": false, "GivesAVoteOfTemporalThatHung": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newApart(t)
				a.hangs = hangs
				a.observe = func(context.Context) vigil.Observation { return vigil.Observation{Success: len(a.runs) < 2} }
				def := a.without(1000, func(def *vigil.Definition) {
					firing(vigil.Condition{FailureThreshold: 1})(def)
					def.Check.Interval = 4 * time.Minute
				})
				time.Sleep(5 * time.Minute) // sleep: in a bubble only
				fired, next := a.rows[1].Slot, scheduleOf(def).Next(a.rows[1].Slot)
				a.answer()
				answered := time.Now()
				end := <-a.ended
				if state := end.result.State; end.err != nil || len(state.Firing) != 1 || !state.Slot.Equal(fired) || !end.at.Before(next) ||
					end.at.Sub(answered) > 7*time.Second {
					t.Errorf("the turn ended %v after Temporal answered with %+v, the next slot is %v", end.at.Sub(answered), end, next)
				}
				turn := turnOf(def, end.result.State)
				turn.Recover, turn.By = true, "test"
				a.start(turn, plain)
				if end = a.endOfNewer(); end.err != nil || !end.result.State.Slot.Equal(next) || len(a.rows) != 3 {
					t.Errorf("the turn after it ended with %+v and %d results, the slot is %v", end, len(a.rows), next)
				}
			})
		})
	}

	t.Run("KeepsAVoteWhereTheNextTurnFails", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.failTwice()
			a.without(1000, firing(vigil.Condition{FailureThreshold: 2}))
			time.Sleep(4 * goOnInterval) // sleep: in a bubble only
			a.set(func() { a.writeErr = errors.New("Postgres is away") })
			time.Sleep(2 * goOnInterval) // sleep: in a bubble only
			a.answer()
			for range 2 { // of the vote by itself, and of the turn that failed
				end := <-a.ended
				if end.err != nil || len(end.result.State.Firing) != 1 || !end.result.State.Slot.Equal(a.rows[4].Slot) {
					t.Errorf("the turn ended with %+v, the second failure is of %v", end, a.rows[4].Slot)
				}
			}
		})
	})

	t.Run("NudgesItsLoopWhereNoTurnFollowsAVote", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.failTwice()
			def := a.without(1000, firing(vigil.Condition{FailureThreshold: 2}))
			a.lost = true
			time.Sleep(6 * goOnInterval) // sleep: in a bubble only
			a.answer()
			<-a.ended
			time.Sleep(6 * time.Second) // sleep: in a bubble only
			a.mu.Lock()
			defer a.mu.Unlock()
			if !slices.Equal(a.repeated, []uuid.UUID{def.Check.ID}) {
				t.Errorf("turns of %v were repeated", a.repeated)
			}
		})
	})

	t.Run("IsLeftToAnotherWorker", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, stop := newApart(t), make(chan struct{})
			a.withoutFrom(1000, nil, func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
			time.Sleep(4*goOnInterval + goOnInterval/2) // sleep: in a bubble only
			probes := a.probes()
			close(stop)
			a.watcher.Rest(t.Context())
			if turn := a.opened(); turn.ActivityID == "" || a.probes() != probes {
				t.Errorf("turn %+v, %d probes after the worker stopped", turn, a.probes()-probes)
			}
		})
	})

	t.Run("EndsWhenItsTimeIsOver", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.without(1000, nil)
			time.Sleep(time.Hour) // sleep: in a bubble only
			if probes := a.probes(); probes < 50 || probes > 60 {
				t.Errorf("%d probes in the 10 minutes of a turn, want one every 10 s", probes)
			}
		})
	})
}
