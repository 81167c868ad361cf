// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// calmVotes stores votes, as the database does, and receives the signals of them.
type calmVotes struct {
	stored   []vigil.Vote
	ack      vigil.VoteAck
	err      error // of the database
	signaled int
	lost     error // of a signal
	never    bool  // a signal is not answered
}

func (v *calmVotes) Vote(ctx context.Context, _ uuid.UUID, _ vigil.Vote, _ vigil.VoteAck) error {
	if v.never {
		<-ctx.Done()
		return ctx.Err()
	}
	v.signaled++
	return v.lost
}

func (v *calmVotes) SaveVote(_ context.Context, _ uuid.UUID, vote vigil.Vote) (vigil.VoteAck, error) {
	if v.err == nil {
		v.stored = append(v.stored, vote)
	}
	return v.ack, v.err
}

// TestWatchOfANewLoop tests what the first turn of a loop does, with which its process is
// beyond its budget, but where the case says otherwise.
func TestWatchOfANewLoop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		within bool // the budget
		ack    vigil.VoteAck
		err    error
		lost   error
		fails  bool

		end      vigil.TurnEnd
		slots    int
		reported bool
	}{
		"GoesOnAfterItsFirstResult":             {end: vigil.TurnCovered, slots: 6, reported: true},
		"EndsWithItsFirstResultWithinTheBudget": {within: true, end: vigil.TurnChanged, slots: 1, reported: true},
		"GoesOnWhereAnIncidentWaitsForItsVote":  {ack: vigil.VoteAck{Relevant: true}, end: vigil.TurnCovered, slots: 6, reported: true},
		"EndsWhereItsVoteIsNotStored":           {err: errors.New("postgres is away"), end: vigil.TurnChanged, slots: 1},
		"EndsWhereTheSignalOfItsVoteIsLost":     {lost: errors.New("temporal is away"), end: vigil.TurnChanged, slots: 1},
		"EndsWithAFirstResultThatIsNews":        {fails: true, end: vigil.TurnChanged, slots: 1, reported: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				votes := &calmVotes{}
				w := newWatchFixture(t, wide, func(o *activities.WatcherOptions) { o.Votes, o.Incidents = votes, votes })
				for range 40 { // turns of other loops take the tokens
					if c.within {
						break
					}
					w.started(w.define(func(d *vigil.Definition) { d.Check.Interval = time.Hour }))
				}
				def := w.define(firing(vigil.Condition{FailureThreshold: 1}))
				if c.fails {
					w.observe = fails
				}
				*votes = calmVotes{ack: c.ack, err: c.err, lost: c.lost}
				rows := len(w.rows)
				result := w.must(w.watch(turnOf(def, vigil.State{})))
				probed := len(w.rows) - rows
				if result.End != c.end || result.Reported != c.reported || c.slots == 1 && probed != 1 ||
					c.slots > 1 && (probed < 2 || probed > c.slots) {
					t.Errorf("the turn ends as %s with %d slots, reported %v; want %s with %d, %v",
						result.End, probed, result.Reported, c.end, c.slots, c.reported)
				}
				if c.reported && !c.fails &&
					(len(votes.stored) != 1 || len(votes.stored[0].Firing) > 0 || votes.stored[0].Slot.IsZero() || votes.signaled != 1) {
					t.Errorf("votes %+v, %d signals; want one without a rule and its signal", votes.stored, votes.signaled)
				}
				if c.fails && (len(votes.stored) != 1 || len(votes.stored[0].Firing) != 1 || votes.signaled != 1) {
					t.Errorf("votes %+v, %d signals; want one with the rule that fires and its signal", votes.stored, votes.signaled)
				}
			})
		})
	}

	t.Run("KnowsItsVoteOfALaterTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			votes := &calmVotes{}
			w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Votes, o.Incidents = votes, votes })
			turn := w.started(w.define(nil))
			if result := w.must(w.watch(turn)); result.Reported || len(votes.stored) != 1 {
				t.Errorf("reported %v with votes %+v, want the first turn's alone", result.Reported, votes.stored)
			}
		})
	})
}

// TestWatchReportsItsVote tests that a turn which ends with news reports the vote of its
// region, and leaves it to the loop where that does not succeed.
func TestWatchReportsItsVote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err, lost error
		never     bool // Temporal does not answer
		reported  bool
	}{
		"StoredAndSignaled":        {reported: true},
		"OfARegionThatWasRemoved":  {err: vigil.NotFound("check"), reported: true},
		"NotStored":                {err: errors.New("postgres is away")},
		"StoredAndNotSignaled":     {lost: errors.New("temporal is away")},
		"StoredAndSignaledTooLate": {never: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				votes := &calmVotes{}
				w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Votes, o.Incidents = votes, votes })
				def := w.define(firing(vigil.Condition{FailureThreshold: 1}))
				turn := w.started(def)
				*votes = calmVotes{ack: vigil.VoteAck{Relevant: true}, err: c.err, lost: c.lost, never: c.never}
				w.observe = fails
				result := w.must(w.watch(turn))
				if result.Reported != c.reported || len(result.State.Firing) != 1 {
					t.Errorf("reported %v with the rules %v, want %v with one", result.Reported, result.State.Firing, c.reported)
				}
				if c.err == nil && (len(votes.stored) != 1 || votes.stored[0].Slot != result.State.Slot || len(votes.stored[0].Firing) != 1 ||
					votes.stored[0].Revision != result.Revision || votes.stored[0].Failures != 1) {
					t.Errorf("stored %+v, want the vote of %+v", votes.stored, result.State)
				}
				*votes = calmVotes{}
				w.observe = takes(0)
				if result = w.must(w.watch(turnOf(def, result.State))); !result.Reported || len(votes.stored) != 1 || len(votes.stored[0].Firing) > 0 {
					t.Errorf("reported %v with votes %+v after the recovery, want one without a rule", result.Reported, votes.stored)
				}
			})
		})
	}
}
