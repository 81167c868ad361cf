// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// notBrought runs turns of one slot of a check, the second one in a test environment that is prepared, after which
// Temporal brings none. It returns the next turn.
func (a *apart) notBrought(
	change func(*vigil.Definition),
	prepare func(*testsuite.TestActivityEnvironment),
) (vigil.Definition, activities.Turn) {
	a.Helper()
	a.keep(1)
	a.lost = true
	def := a.define(func(def *vigil.Definition) {
		def.Check.Interval = goOnInterval
		if change != nil {
			change(def)
		}
	})
	turn := turnOf(def, vigil.State{})
	for range 2 {
		turn = a.end(def, turn, prepare)
	}
	return def, turn
}

// wantSlots checks that each slot of the check is stored once, the first one that Temporal did not bring late, and
// all others on time, and returns how many there are.
func (a *apart) wantSlots(def vigil.Definition) int {
	a.Helper()
	a.watchFixture.mu.Lock()
	defer a.watchFixture.mu.Unlock()
	for i, row := range a.rows {
		most := time.Millisecond
		if i == 2 {
			most = 3*fleet.LeaseRenewal + time.Second
		}
		if late := row.Time.Sub(row.Slot); i > 0 && (late > most || !row.Slot.Equal(scheduleOf(def).Next(a.rows[i-1].Slot))) {
			a.Errorf("result %d has slot %v, %v late, after %v", i, row.Slot, late, a.rows[i-1].Slot)
		}
	}
	for i, row := range a.written {
		if i > 1 && i < len(a.written)-1 && !row.Owned {
			a.Errorf("result %d may belong to another worker", i)
		}
	}
	return len(a.rows)
}

// TestTurnLost tests turns that Temporal does not bring after it has taken the end of those before.
func TestTurnLost(t *testing.T) {
	t.Parallel()

	// As a history host says that was frozen, and does not know yet that its shard was another one's.
	t.Run("IsNudgedOnceWhereTemporalDoesNotKnowTheTurnBefore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			def, turn := a.notBrought(nil, plain)
			a.mu.Lock()
			a.unknown = true
			a.mu.Unlock()
			a.start(turn, plain)
			nudged := func(what string, want int) {
				t.Helper()
				a.mu.Lock()
				defer a.mu.Unlock()
				if len(a.repeated) != want || want > 0 && a.repeated[0] != def.Check.ID {
					t.Errorf("%s the loops %v were nudged, want %s %d times", what, a.repeated, def.Check.ID, want)
				}
			}
			time.Sleep(2*goOnInterval + 2*fleet.LeaseRenewal) // sleep: in a bubble only
			nudged("before it is late", 0)
			time.Sleep(3 * fleet.LeaseRenewal) // sleep: in a bubble only
			nudged("once it is late", 1)
			time.Sleep(3 * time.Minute) // sleep: in a bubble only
			nudged("later", 1)
			if n := len(a.rows); n != 3 {
				t.Errorf("%d results, want those of the three turns of Temporal", n)
			}
		})
	})

	t.Run("IsNotNudgedWhereTheLoopHasMovedMeanwhile", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			_, turn := a.notBrought(nil, plain)
			a.mu.Lock()
			a.unknown, a.lost = true, false
			a.mu.Unlock()
			a.start(turn, plain)
			time.Sleep(3 * time.Minute) // sleep: in a bubble only
			a.mu.Lock()
			defer a.mu.Unlock()
			if len(a.repeated) > 0 || len(a.rows) != 3 {
				t.Errorf("the loops %v were nudged, %d results", a.repeated, len(a.rows))
			}
		})
	})

	t.Run("GoesOnUntilTheTurnOfTemporalBegins", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			def, turn := a.notBrought(nil, plain)
			time.Sleep(6*goOnInterval + goOnInterval/2) // sleep: in a bubble only
			if n := a.wantSlots(def); n != 8 || len(a.ended) > 0 {
				t.Errorf("%d results, %d ends of turns that Temporal does not wait for", n, len(a.ended))
			}
			if a.mu.Lock(); len(a.repeated) != 1 || a.repeated[0] != def.Check.ID {
				t.Errorf("the loops %v were nudged, want %s once after 30 s", a.repeated, def.Check.ID)
			}
			a.mu.Unlock()
			a.start(turn, plain)
			end := <-a.ended
			newest := a.rows[len(a.rows)-1].Slot
			if end.err != nil || end.result.End != vigil.TurnCovered || !end.result.State.Slot.Equal(newest) {
				t.Errorf("the turn that came ended with %+v, the newest slot is %v", end, newest)
			}
			if n := a.probes(); n != len(a.rows) {
				t.Errorf("%d probes for %d slots", n, len(a.rows))
			}
			if n := a.log.count("Temporal does not bring the next turns"); n != 1 {
				t.Errorf("%d lines in the log", n)
			}
		})
	})

	t.Run("IsNotLostThatBegins", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			def, turn := a.notBrought(nil, plain)
			for range 10 {
				turn = a.end(def, turn, plain)
			}
			a.wantEverySlot(def, 12)
			if probes := a.probes(); probes != 12 {
				t.Errorf("%d probes for 12 slots", probes)
			}
		})
	})

	t.Run("IsThatOfAnotherWorker", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.notBrought(nil, plain)
			a.move()
			time.Sleep(10 * time.Minute) // sleep: in a bubble only
			if probes := a.probes(); probes != 2 {
				t.Errorf("%d probes, want 2", probes)
			}
		})
	})

	t.Run("IsLostWhilePostgresWasAway", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.ownerErr = errors.New("Postgres is away")
			a.notBrought(nil, plain)
			time.Sleep(3 * goOnInterval) // sleep: in a bubble only
			if probes := a.probes(); probes != 2 {
				t.Errorf("%d probes while it was not known whose loop it is, want 2", probes)
			}
			a.mu.Lock()
			a.ownerErr = nil
			a.mu.Unlock()
			time.Sleep(3 * goOnInterval) // sleep: in a bubble only
			if probes := a.probes(); probes < 5 {
				t.Errorf("%d probes, want 5", probes)
			}
		})
	})

	t.Run("EndsOnceItsLoopIsThatOfAnotherWorker", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.notBrought(nil, plain)
			time.Sleep(3 * goOnInterval) // sleep: in a bubble only
			a.move()
			time.Sleep(10 * time.Minute) // sleep: in a bubble only
			if probes := a.probes(); probes < 5 || probes > 6 || len(a.repeated) > 0 {
				t.Errorf("%d probes, and %d nudges of the loop of another worker", probes, len(a.repeated))
			}
		})
	})

	t.Run("EndsWhileItIsLate", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.notBrought(nil, plain)
			a.set(func() {
				a.observe = func(context.Context) vigil.Observation {
					time.Sleep(goOnInterval + goOnInterval/2) // sleep: in a bubble only
					return vigil.Observation{Success: true}
				}
			})
			time.Sleep(10 * time.Minute) // sleep: in a bubble only
			if probes := a.probes(); probes < 2+7 || probes > 2+9 {
				t.Errorf("%d probes, want two, and one each 15 s for two minutes", probes)
			}
		})
	})

	t.Run("EndsForTheSweepToFindItsLoop", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.notBrought(nil, plain)
			time.Sleep(10 * time.Minute) // sleep: in a bubble only
			if probes := a.probes(); probes < 2+12 || probes > 2+13 {
				t.Errorf("%d probes, want two and those of two minutes", probes)
			}
			if a.mu.Lock(); len(a.repeated) < 3 || len(a.repeated) > 4 {
				t.Errorf("the loop was nudged %d times in two minutes, want one each 30 s", len(a.repeated))
			}
			a.mu.Unlock()
		})
	})

	t.Run("OfAnEndedWorkflowIsNotLost", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			def, turn := a.notBrought(nil, plain)
			a.mu.Lock()
			a.unknown = true
			a.mu.Unlock()
			a.start(turn, plain)
			time.Sleep(10 * time.Minute) // sleep: in a bubble only
			if n := a.wantSlots(def); n != 3 {
				t.Errorf("%d results, want 3", n)
			}
		})
	})

	t.Run("LeavesVotesToItsLoop", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.failTwice()
			def, turn := a.notBrought(firing(vigil.Condition{FailureThreshold: 2}), plain)
			time.Sleep(6*goOnInterval + goOnInterval/2) // sleep: in a bubble only
			a.wantSlots(def)
			a.start(turn, plain)
			end := <-a.ended
			if state := end.result.State; end.err != nil || len(state.Firing) != 1 || !state.Slot.Equal(a.rows[4].Slot) || !end.result.Behind {
				t.Errorf("the turn that came ended with %+v, the second failure is of %v", end, a.rows[4].Slot)
			}
		})
	})

	t.Run("ReportsItsFirstVote", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			votes := newManyVotes()
			a := newApart(t, func(o *activities.WatcherOptions) { o.Votes, o.Incidents = votes, votes })
			a.failTwice()
			def, turn := a.notBrought(firing(vigil.Condition{FailureThreshold: 2}), plain)
			saved := func() int { return len(votes.saved[def.Check.ID]) }
			before := saved()
			time.Sleep(6*goOnInterval + goOnInterval/2) // sleep: in a bubble only
			if n, vote := saved()-before, votes.last; n != 1 || !vote.Slot.Equal(a.rows[4].Slot) || len(vote.Firing) != 1 {
				t.Fatalf("%d votes, the last one %+v; want one of %v", n, vote, a.rows[4].Slot)
			}
			a.set(func() { a.voted, a.votedFires = votes.last.Slot, true })
			a.start(turn, plain)
			end := <-a.ended // the loop signals that vote once more: it may not have been
			if state := end.result.State; end.err != nil || len(state.Firing) != 1 || !state.Slot.Equal(a.rows[4].Slot) || !end.result.Behind {
				t.Errorf("the turn that came ended with %+v, the second failure is of %v", end, a.rows[4].Slot)
			}
			turn = turnOf(def, end.result.State)
			turn.Recover, turn.By = true, "test"
			a.start(turn, plain)
			end = <-a.ended
			if state := end.result.State; end.err != nil || len(state.Firing) > 0 || !state.Slot.Equal(a.rows[5].Slot) || !end.result.Behind {
				t.Errorf("the turn after it ended with %+v, the check was well at %v", end, a.rows[5].Slot)
			}
		})
	})

	t.Run("EndsWithItsWorker", func(t *testing.T) {
		t.Parallel()
		for name, after := range map[string]time.Duration{"BeforeItBegan": time.Second, "AfterIt": 3*goOnInterval + goOnInterval/2} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					a, stop := newApart(t), make(chan struct{})
					a.notBrought(nil, func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
					time.Sleep(after) // sleep: in a bubble only
					probes := a.probes()
					close(stop)
					a.watcher.Rest(t.Context())
					time.Sleep(10 * time.Minute) // sleep: in a bubble only
					if a.probes() != probes || len(a.ended) > 0 {
						t.Errorf("%d probes and %d ends of turns after the worker stopped", a.probes()-probes, len(a.ended))
					}
				})
			})
		}
	})

	t.Run("EndsWithItsLoop", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			def, _ := a.notBrought(nil, plain)
			time.Sleep(3 * goOnInterval) // sleep: in a bubble only
			a.revise(def, func(d *vigil.Definition) { d.Check.Enabled = false })
			time.Sleep(time.Second) // sleep: in a bubble only
			probes := a.probes()
			time.Sleep(10 * time.Minute) // sleep: in a bubble only
			if a.probes() != probes {
				t.Errorf("%d probes of a check that is disabled", a.probes()-probes)
			}
		})
	})
}
