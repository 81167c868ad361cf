package activities_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/activities"
)

// calmVotes stores votes, as the database does, and receives the signals of them.
type calmVotes struct {
	stored   []vigil.Vote
	ack      vigil.VoteAck
	err      error // of the database
	signaled int
	lost     error // of a signal
}

func (v *calmVotes) Vote(context.Context, uuid.UUID, vigil.Vote, vigil.VoteAck) error {
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

		end   activities.End
		slots int
		voted bool
	}{
		"GoesOnAfterItsFirstResult":             {end: activities.Covered, slots: 6, voted: true},
		"EndsWithItsFirstResultWithinTheBudget": {within: true, end: activities.Changed, slots: 1, voted: true},
		"EndsWhereAnIncidentWaitsForItsVote":    {ack: vigil.VoteAck{Relevant: true}, end: activities.Changed, slots: 1},
		"EndsWhereItsVoteIsNotStored":           {err: errors.New("postgres is away"), end: activities.Changed, slots: 1},
		"EndsWhereTheSignalOfItsVoteIsLost":     {lost: errors.New("temporal is away"), end: activities.Changed, slots: 1},
		"EndsWithAFirstResultThatIsNews":        {fails: true, end: activities.Changed, slots: 1},
		"ReportsNothingOfARegionThatWasRemoved": {err: vigil.NotFound("check"), end: activities.Changed, slots: 1},
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
				if result.End != c.end || result.Voted != c.voted || c.slots == 1 && probed != 1 || c.slots > 1 && (probed < 2 || probed > c.slots) {
					t.Errorf("the turn ends as %s with %d slots, voted %v; want %s with %d, %v",
						result.End, probed, result.Voted, c.end, c.slots, c.voted)
				}
				if c.voted && (len(votes.stored) != 1 || len(votes.stored[0].Firing) > 0 || votes.stored[0].Slot.IsZero() || votes.signaled != 1) {
					t.Errorf("votes %+v, %d signals; want one without a rule and its signal", votes.stored, votes.signaled)
				}
				if c.fails && len(votes.stored) > 0 {
					t.Errorf("votes %+v are stored beside the one that the loop reports", votes.stored)
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
			if result := w.must(w.watch(turn)); result.Voted || len(votes.stored) != 1 {
				t.Errorf("voted %v with votes %+v, want the first turn's alone", result.Voted, votes.stored)
			}
		})
	})
}
