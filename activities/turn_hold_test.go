// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// manyVotes receives the votes of many turns at once.
type manyVotes struct {
	mu    sync.Mutex
	saved map[uuid.UUID][]time.Time // when votes came
	last  vigil.Vote
	tries int
	fires map[uuid.UUID]bool // what the last one says
	err   error
}

func (v *manyVotes) SaveVote(_ context.Context, check uuid.UUID, vote vigil.Vote) (vigil.VoteAck, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tries++
	if v.err != nil {
		return vigil.VoteAck{}, v.err
	}
	v.last = vote
	v.saved[check] = append(v.saved[check], time.Now())
	v.fires[check] = len(vote.Firing) > 0
	return vigil.VoteAck{Relevant: true}, nil
}

func newManyVotes() *manyVotes {
	return &manyVotes{saved: make(map[uuid.UUID][]time.Time), fires: make(map[uuid.UUID]bool)}
}

// leave makes every later vote fail.
func (v *manyVotes) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = errors.New("Postgres is away")
}

func (*manyVotes) Vote(context.Context, uuid.UUID, vigil.Vote, vigil.VoteAck) error { return nil }

// TestManyTurnsWithNews lets 100 checks fail in the same slot, and looks at a turn of one that
// fails with them.
func TestManyTurnsWithNews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others     int
		rate       float64
		away       bool // Postgres, for votes
		recovers   bool // after some seconds
		goesAway   bool // Postgres, before that
		restarted  bool
		goesOn     bool
		votes      int
		reported   bool
		lastHealth vigil.Health
	}{
		"GoesOnForAWhileAndReportsAtOnce": {others: 100, rate: tiny, goesOn: true, votes: 1, reported: true, lastHealth: vigil.Unhealthy},
		"ReportsTheRecoveryToo": {
			others: 100, rate: tiny, recovers: true, goesOn: true, votes: 2, reported: true, lastHealth: vigil.Healthy,
		},
		"HasARecoveryReportedThatItCouldNot": {
			others: 100, rate: tiny, recovers: true, goesAway: true, votes: 1, restarted: true, lastHealth: vigil.Healthy,
		},
		"EndsAtOnceAmongFew":              {others: 10, rate: tiny, votes: 1, reported: true, lastHealth: vigil.Unhealthy},
		"EndsAtOnceWhereItCannotReport":   {others: 100, rate: tiny, away: true, restarted: true, lastHealth: vigil.Unhealthy},
		"EndsAtOnceWhereEachSlotHasATurn": {others: 100, votes: 1, reported: true, lastHealth: vigil.Unhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				votes := newManyVotes()
				w := newWatchFixture(t, func(o *activities.WatcherOptions) {
					o.TurnRate, o.QuietWindow, o.Votes, o.Incidents = c.rate, 10*time.Minute, votes, votes
				})
				def := func() vigil.Definition {
					return w.define(func(d *vigil.Definition) {
						every(4 * time.Second)(d)
						firing(vigil.Condition{FailureThreshold: 1})(d)
					})
				}
				var turns []activities.Turn
				for range c.others + 1 {
					turn := w.started(def())
					turn.Span = 30
					turns = append(turns, turn)
				}
				clear(votes.saved) // those of the first turns
				if c.away {
					votes.err = errors.New("Postgres is away")
				}
				w.set(func() { w.observe = fails })
				if c.goesAway {
					time.AfterFunc(9*time.Second, votes.leave)
				}
				if c.recovers {
					time.AfterFunc(10*time.Second, func() { w.set(func() { w.observe = nil }) })
				}
				for _, turn := range turns[:c.others] {
					go func() { _, _ = w.watch(turn) }()
				}
				time.Sleep(100 * time.Millisecond) // its slot is not before theirs
				mine := turns[c.others]
				before := w.slotsOf(mine.CheckID)
				got := w.must(w.watch(mine))
				slots := w.slotsOf(mine.CheckID) - before
				if got.End != vigil.TurnChanged || got.Reported != c.reported || got.State.Health != c.lastHealth || got.Restarted != c.restarted ||
					(slots > 12) != c.goesOn ||
					slots > 17 {
					t.Errorf("%+v after %d slots", got, slots)
				}
				time.Sleep(time.Minute) // until the other turns have ended
				votes.mu.Lock()
				defer votes.mu.Unlock()
				if came := votes.saved[mine.CheckID]; len(came) != c.votes {
					t.Errorf("votes came at %v", came)
				} else if c.votes > 0 && !c.goesAway && votes.fires[mine.CheckID] != (c.lastHealth == vigil.Unhealthy) {
					t.Error("the last vote is not that of the last result")
				}
			})
		})
	}
}

// TestTurnWithNewsInABurst lets one check fail while many others do.
func TestTurnWithNewsInABurst(t *testing.T) {
	t.Parallel()

	// begin returns a check and its next turn, which covers so many slots and fails from the
	// first on.
	begin := func(t *testing.T, interval time.Duration, span int) (*watchFixture, *manyVotes, vigil.Definition, activities.Turn) {
		t.Helper()
		votes := newManyVotes()
		w := newWatchFixture(t, func(o *activities.WatcherOptions) {
			o.TurnRate, o.QuietWindow, o.Votes, o.Incidents = tiny, 10*time.Minute, votes, votes
		})
		def := w.define(func(d *vigil.Definition) {
			every(interval)(d)
			firing(vigil.Condition{FailureThreshold: 1})(d)
		})
		turn := w.started(def)
		turn.Span, votes.tries = span, 0
		w.set(func() {
			w.observe = func(ctx context.Context) vigil.Observation {
				w.watcher.CountNews(time.Now())
				return fails(ctx)
			}
		})
		return w, votes, def, turn
	}

	t.Run("GoesOnBehindItsLastSlot", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, votes, _, turn := begin(t, 2*time.Minute, 1)
			got := w.must(w.watch(turn))
			if on := time.Since(got.State.Slot).Round(time.Second); got.End != vigil.TurnChanged || !got.Reported || on != time.Minute {
				t.Errorf("%+v, %v after its slot", got, on)
			}
			if votes.tries != 1 {
				t.Errorf("%d votes, the last one %+v", votes.tries, votes.last)
			}
		})
	})

	t.Run("EndsWithANewDefinition", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, _, def, turn := begin(t, 4*time.Second, 30)
			at := scheduleOf(def).Next(turn.State.Slot).Add(10 * time.Second)
			time.AfterFunc(time.Until(at), func() { w.revise(def, func(*vigil.Definition) {}) })
			got := w.must(w.watch(turn))
			if later := time.Since(at); got.End != vigil.TurnChanged || got.Revision != 2 || later > 10*time.Second {
				t.Errorf("%+v, %v after the new definition", got, later)
			}
		})
	})

	t.Run("ReportsAgainAfterARestore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, _, def, turn := begin(t, 4*time.Second, 30)
			at := scheduleOf(def).Next(turn.State.Slot).Add(10 * time.Second)
			time.AfterFunc(time.Until(at), func() {
				w.set(func() { w.rows = w.rows[:1] }) // an older backup
				w.revise(def, func(d *vigil.Definition) { d.Restored = 2 })
			})
			if got := w.must(w.watch(turn)); got.Reported || !got.Restarted || got.Restored != 2 {
				t.Errorf("%+v, want the loop to report the vote", got)
			}
		})
	})

	t.Run("TriesOnce", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, votes, _, turn := begin(t, 4*time.Second, 30)
			votes.leave()
			if got := w.must(w.watch(turn)); got.End != vigil.TurnChanged || got.Reported || votes.tries != 1 {
				t.Errorf("%+v after %d tries", got, votes.tries)
			}
		})
	})
}
