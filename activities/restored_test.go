// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestWatchRestored tests what a turn does after Postgres or Temporal was restored from a
// backup, so that the state of its loop and the rows do not agree, and after an operator has
// reset its loop.
func TestWatchRestored(t *testing.T) {
	t.Parallel()
	down := firing(vigil.Condition{FailureThreshold: 3})
	// restore makes the definition one of an epoch that no loop knows.
	restore := func(w *watchFixture, def vigil.Definition) vigil.Definition {
		return w.revise(def, func(d *vigil.Definition) { d.Restored = 2 })
	}

	t.Run("KeepsItsStateWhenPostgresHasForgottenResults", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(down)
			w.observe = fails
			turn := w.startedFor(def, 5)
			w.voted, w.rows = def.Starts[region], w.rows[:2]
			def = restore(w, def)
			turn.Revision = def.Check.Revision
			result := w.must(w.watch(turn))
			if s := result.State; s.Failures != 5 || len(s.Firing) != 1 || !result.Restarted || result.Restored != 2 {
				t.Errorf("%+v, want five failures, and the vote of the rule that fires to be reported again", result)
			}
			next := turnOf(def, result.State)
			next.Restored = result.Restored
			if again := w.must(w.watch(next)); again.Restarted || again.State.Failures != 6 {
				t.Errorf("%+v, want one vote only", again)
			}
		})
	})

	t.Run("ReportsAgainAlthoughTheTurnThatComparedWasLost", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(down)
			w.observe = fails
			turn := w.startedFor(def, 5)
			w.voted, w.rows = def.Starts[region], w.rows[:1] // the backup is from before the failure
			def = restore(w, def)
			turn.Revision = def.Check.Revision
			w.must(w.watch(turn)) // and the loop never gets this answer
			turn.Recover = true
			if result := w.must(w.watch(turn)); len(result.State.Firing) != 1 || !result.Restarted {
				t.Errorf("%+v, want the vote to be reported again", result)
			}
		})
	})

	for name, reset := range map[string]bool{"AfterARestore": false, "AfterAReset": true} {
		t.Run("ReportsNoVoteOfAPastEpisodeAgain"+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatchFixture(t)
				def := w.define(down)
				old := w.startedFor(def, 1) // Temporal's backup
				w.observe = fails
				turn := w.continued(def, old, 4)
				w.observe = nil
				turn = w.continued(def, turn, 2)
				w.voted = w.rows[5].Slot // the recovery was reported
				if old.Reset = reset; !reset {
					def = restore(w, def)
					old.Revision = def.Check.Revision
				}
				result := w.must(w.watch(old))
				if len(result.State.Firing) > 0 || !result.State.Slot.Equal(turn.State.Slot) || result.Behind || !result.Restarted {
					t.Errorf("%+v, want the state of the newest row, and a vote to be reported", result)
				}
			})
		})
	}

	t.Run("TakesAVoteOfALostTurnForNoRestore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(down)
			old := w.startedFor(def, 2)
			w.observe = fails
			w.continued(def, old, 4) // the lost turn
			w.voted, w.votedFires = w.rows[4].Slot, true
			old.Recover = true
			result := w.must(w.watch(old))
			if len(result.State.Firing) != 1 || !result.Restarted || result.Revision != def.Check.Revision || result.Restored != 0 {
				t.Errorf("%+v, want the vote to be reported again at the same revision", result)
			}
		})
	})

	t.Run("ReportsWhatNoVoteHasReported", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(down)
			old := w.startedFor(def, 1)
			w.observe = fails
			turn := w.continued(def, old, 3)
			w.observe = nil
			turn = w.continued(def, turn, 1)
			w.voted = turn.State.Slot // a first episode, reported with its end
			w.observe = fails
			turn = w.continued(def, turn, 3)
			w.observe = nil
			w.continued(def, turn, 1) // a second one, of which no vote was reported
			old.Recover = true
			result := w.must(w.watch(old))
			if len(result.State.Firing) != 1 || !result.Behind || !result.Restarted {
				t.Errorf("%+v, want the beginning of the second episode", result)
			}
		})
	})

	t.Run("CatchesUpWithResultsOfAnotherTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(down)
			w.observe = fails
			turn := w.startedFor(def, 1)
			w.continued(def, turn, 2) // of another worker
			if result := w.must(w.watch(turn)); result.State.Failures != 3 {
				t.Errorf("state %+v, want three failures", result.State)
			}
		})
	})

	t.Run("TakesTheSlotOfACheckThatCouldNotRunForAResult", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.startedFor(def, 1)
			w.observe = func(context.Context) vigil.Observation {
				return vigil.Observation{Unavailable: true, Error: "no permission"}
			}
			turn = w.continued(def, turn, 1)
			w.observe = nil
			if result := w.must(w.watch(turn)); result.Restarted || result.State.Unstored {
				t.Errorf("%+v", result)
			}
		})
	})

	t.Run("FailsWithoutKnowingTheLastVote", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.startedFor(def, 3)
			w.voteErr, turn.Recover = errors.New("postgres is away"), true
			if _, err := w.watch(turn); err == nil {
				t.Error("a turn goes on without knowing the last vote")
			}
		})
	})
}

// startedFor runs the first turns of a check and returns the one after them.
func (w *watchFixture) startedFor(def vigil.Definition, turns int) activities.Turn {
	w.Helper()
	return w.continued(def, turnOf(def, vigil.State{}), turns)
}

// continued runs turns of one slot each and returns the one after them.
func (w *watchFixture) continued(def vigil.Definition, turn activities.Turn, turns int) activities.Turn {
	w.Helper()
	for range turns {
		turn = turnOf(def, w.must(w.watch(turn)).State)
	}
	return turn
}
