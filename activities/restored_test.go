package activities_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vigil"
	"vigil/activities"
)

// TestWatchRestored tests what a turn does when Postgres or Temporal was restored from a
// backup, so that the state of its loop and the rows do not agree.
func TestWatchRestored(t *testing.T) {
	t.Parallel()
	down := firing(vigil.Condition{FailureThreshold: 3})

	t.Run("KeepsItsStateWhenPostgresHasForgottenResults", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(down)
			w.observe = fails
			turn := w.startedFor(def, 5)
			w.rows = w.rows[:2]
			result := w.must(w.watch(turn))
			if s := result.State; s.Failures != 6 || len(s.Firing) != 1 {
				t.Errorf("state %+v, want six failures and the rule to fire", s)
			}
			if !result.Restarted || result.Revision != def.Check.Revision+1 || !slices.Equal(w.raised, []vigil.RestoreSign{vigil.DatabaseOlder}) {
				t.Errorf("%+v, raised %v, want a vote to be reported at the next revision", result, w.raised)
			}
			next := turnOf(def, result.State)
			next.Revision = result.Revision
			if again := w.must(w.watch(next)); again.Restarted || len(w.raised) != 1 {
				t.Errorf("%+v, raised %v, want one vote only", again, w.raised)
			}
		})
	})

	t.Run("ReportsAForgottenVoteAlthoughTheTurnThatSawItWasLost", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(down)
			w.observe = fails
			turn := w.startedFor(def, 5)
			w.voted, w.rows = def.Starts[region], w.rows[:1] // the backup is from before the failure
			w.must(w.watch(turn))                            // and the loop never gets this answer
			w.raised, turn.Recover = nil, true
			result := w.must(w.watch(turn))
			if len(result.State.Firing) != 1 || !result.Restarted || !slices.Equal(w.raised, []vigil.RestoreSign{vigil.DatabaseOlder}) {
				t.Errorf("%+v, raised %v, want the vote to be reported again", result, w.raised)
			}
			next := turnOf(def, result.State)
			w.voted, w.votedFires, next.Recover = result.State.Slot, true, true
			if again := w.must(w.watch(next)); again.Restarted || len(w.raised) != 1 {
				t.Errorf("%+v, raised %v, want one vote only", again, w.raised)
			}
		})
	})

	t.Run("ReportsNoVoteOfAPastEpisodeAgain", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(down)
			old := w.startedFor(def, 1) // Temporal's backup
			w.observe = fails
			turn := w.continued(def, old, 4)
			w.observe = nil
			turn = w.continued(def, turn, 2)
			w.voted = w.rows[5].Slot // the recovery was reported
			old.Recover = true
			result := w.must(w.watch(old))
			if len(result.State.Firing) > 0 || !result.State.Slot.Equal(turn.State.Slot) || result.Behind {
				t.Errorf("%+v, want the state of the newest row", result)
			}
			if !result.Restarted || result.Revision != def.Check.Revision+1 || !slices.Equal(w.raised, []vigil.RestoreSign{vigil.TemporalOlder}) {
				t.Errorf("%+v, raised %v, want a vote to be reported at the next revision", result, w.raised)
			}
		})
	})

	t.Run("TakesATurnThatReportedAndWasLostForNoSign", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(down)
			old := w.startedFor(def, 2)
			w.observe = fails
			w.continued(def, old, 4) // the lost turn
			w.voted, w.votedFires, w.votedBegan = w.rows[4].Slot, true, old.State.Slot
			old.Recover = true
			result := w.must(w.watch(old))
			if len(result.State.Firing) != 1 || !result.Restarted || result.Revision != def.Check.Revision || len(w.raised) > 0 {
				t.Errorf("%+v, raised %v, want the vote to be reported again at the same revision", result, w.raised)
			}
			older := turnOf(def, vigil.State{Slot: w.rows[0].Slot, Health: vigil.Healthy})
			older.Recover = true
			if w.must(w.watch(older)); !slices.Equal(w.raised, []vigil.RestoreSign{vigil.TemporalOlder}) {
				t.Errorf("raised %v, want the sign of a loop that is older than that turn", w.raised)
			}
		})
	})

	t.Run("ReportsWhatNoVoteHasReported", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
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
			w := newRestoredFixture(t)
			def := w.define(down)
			w.observe = fails
			turn := w.startedFor(def, 1)
			w.continued(def, turn, 2) // of another worker
			result := w.must(w.watch(turn))
			if result.State.Failures != 3 || len(w.raised) > 0 {
				t.Errorf("state %+v, raised %v, want three failures", result.State, w.raised)
			}
		})
	})

	t.Run("TakesTheSlotOfACheckThatCouldNotRunForNoSign", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(nil)
			turn := w.startedFor(def, 1)
			w.observe = func(context.Context) vigil.Observation {
				return vigil.Observation{Unavailable: true, Error: "no permission"}
			}
			turn = w.continued(def, turn, 1)
			w.observe = nil
			if result := w.must(w.watch(turn)); result.Restarted || len(w.raised) > 0 || result.State.Unstored {
				t.Errorf("%+v, raised %v", result, w.raised)
			}
		})
	})

	t.Run("RaisesARevisionThatPostgresHasForgotten", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(nil)
			turn := w.startedFor(def, 1)
			turn.Revision = 7 // of an edit that Postgres has forgotten
			result := w.must(w.watch(turn))
			if result.Revision != 8 || !slices.Equal(w.raised, []vigil.RestoreSign{vigil.DatabaseOlder}) {
				t.Errorf("revision %d, raised %v, want 8", result.Revision, w.raised)
			}
			disabled := w.revise(def, func(d *vigil.Definition) { d.Check.Enabled = false })
			turn = turnOf(disabled, result.State)
			turn.Revision = 9
			if result := w.must(w.watch(turn)); result.End != activities.Gone || result.Revision != 10 {
				t.Errorf("%+v, want the end of the loop at a revision that it follows", result)
			}
		})
	})

	t.Run("FailsWhileTheStoreDoes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(nil)
			turn := w.startedFor(def, 3)
			w.raiseErr = errors.New("postgres is away")
			forgotten := turn
			forgotten.Revision = 7
			if _, err := w.watch(forgotten); err == nil {
				t.Error("a turn at a forgotten revision goes on")
			}
			lost := w.rows
			w.rows = w.rows[:1]
			if _, err := w.watch(turn); err == nil {
				t.Error("a turn with forgotten results goes on")
			}
			w.rows, w.voteErr, turn.Recover = lost, errors.New("postgres is away"), true
			if _, err := w.watch(turn); err == nil {
				t.Error("a turn goes on without knowing the last vote")
			}
		})
	})
}

// TestCatalogueRestored tests a catalogue that has newer definitions than Postgres.
func TestCatalogueRestored(t *testing.T) {
	t.Parallel()

	t.Run("FollowsThePostgresThatWasRestored", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newRestoredFixture(t)
			def := w.define(nil)
			newer := w.revise(def, func(d *vigil.Definition) { d.Check.Name = "newer" })
			turn := w.startedFor(newer, 1)
			w.define(func(d *vigil.Definition) { *d = def }) // the restore
			time.Sleep(2 * time.Second)                      // the catalogue polls
			if result := w.must(w.watch(turn)); result.Revision != newer.Check.Revision+1 {
				t.Errorf("revision %d, want the restored definition at a newer revision", result.Revision)
			}
		})
	})

	t.Run("KeepsANewerDefinitionThatWasReadMeanwhile", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			w.restored = true
			def := w.define(nil)
			turn := w.startedFor(def, 1)
			w.define(func(d *vigil.Definition) { *d = def; d.Check.Revision = 0 })
			w.onRead = func() { w.define(func(d *vigil.Definition) { *d = def }) } // the older read was late
			if err := w.catalogue.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if result := w.must(w.watch(turn)); result.Revision != def.Check.Revision || len(w.raised) > 0 {
				t.Errorf("revision %d, raised %v", result.Revision, w.raised)
			}
		})
	})
}

// newRestoredFixture returns a fixture whose store can raise revisions.
func newRestoredFixture(t *testing.T) *watchFixture {
	t.Helper()
	w := newWatchFixture(t)
	w.set(func() { w.restored = true })
	return w
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
