// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil"
)

// While Temporal is away, it takes the end of no turn, and no other one begins. The worker has all that
// the next turn would be given: its state is in the result. So that turn runs in advance, under the
// activity that is still open, and its own result replaces the one that was not taken.
//
// Where the loop has something to do first, as to report a vote, the result that says so stays. The results after
// it are stored and decide nothing: the loop folds them when it has done that, as those of a lost turn. Temporal is given
// that result as soon as it takes it, apart from the turn that goes on: that may wait for the ping of a job which runs
// once a day.

const (
	// A try to complete a turn that can go on ends tryMargin before its next slot, but takes
	// leastTry at least and mostTry at most.
	tryMargin = 500 * time.Millisecond
	leastTry  = time.Second
	mostTry   = 5 * time.Second
	// retryPause is how long after a try another turn of the process makes the next one.
	retryPause = time.Second
)

// turnAhead returns the turn that begins where a turn has ended whose end Temporal does not take, nil where none can. A turn
// whose results arrive goes on although its next slot may be a day away: a ping may come before.
func (w *Watcher) turnAhead(t *turnRun, result *TurnResult, failure error) *turnRun {
	if failure != nil || !result.goesOn() || !w.Now().Before(t.latest) {
		return nil
	}
	if !rowsDecide(t.turn.Region) && !result.Next.Before(t.latest) {
		return nil
	}
	next := w.newTurn(&Turn{
		CheckID: t.turn.CheckID, Region: t.turn.Region, Revision: result.Revision, State: result.State, Span: result.Span,
		By: result.By, Reset: t.turn.Reset, Restored: result.Restored,
	}, t.call, t.fence, t.stop)
	next.ahead, next.adopted, next.named, next.owed, next.lost = true, t.adopted, t.named, t.owed, t.lost
	next.out.Run, next.out.ShownName = result.Run, result.ShownName
	if next.owed == nil && (t.firingChanged() || t.vote != voteOfLoop || result.Behind || result.Restarted || result.Reported) {
		next.owed = &owedResult{TurnResult: *result}
		next.owed.Behind = true
	}
	return next
}

// owedResult is a result that the loop has to act on first, before results of the turns that go on.
type owedResult struct {
	TurnResult

	taken atomic.Bool // Temporal has taken it
}

// giveOwed gives Temporal what the turn that goes on after t owes, and tries until it is taken or the loop is not this worker's
// any more. That turn is superseded by the next one of the loop, and may end first: what it gives Temporal is the same.
func (w *Watcher) giveOwed(t, ahead *turnRun) {
	ctx, cancel := context.WithDeadline(w.apart.ctx, t.call.Ends)
	defer cancel()
	for {
		pause := time.NewTimer(retryPause)
		select {
		case <-pause.C:
		case <-t.stop:
		case <-ctx.Done():
		}
		pause.Stop()
		fence, ok := w.Lease.Holds(t.turn.Region)
		switch {
		case ctx.Err() != nil, t.stopped(), ahead.owed.taken.Load():
			return
		case !ok:
		case fence != t.fence && !t.owns(ctx):
			return
		case w.tryOwed(ctx, ahead):
			return
		}
	}
}

// tryOwed tries once, unless another turn does, and reports whether no other try is needed.
func (w *Watcher) tryOwed(ctx context.Context, ahead *turnRun) bool {
	now := w.Now()
	limit, may := w.reach.enter(now, now.Add(mostTry+tryMargin))
	if !may {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	w.expectOther(ahead) //nolint:contextcheck // what is expected outlives the try
	if !w.tryComplete(ctx, ahead, &ahead.owed.TurnResult, nil) {
		w.expected.drop(ahead)
		return false
	}
	w.expected.taken(ahead)
	return true
}

// taken is the result of a turn for its loop: the one that it has to act on first, where there is one.
func (t *turnRun) taken(result *TurnResult) *TurnResult {
	if t.owed != nil && result != nil && result.End != vigil.TurnGone {
		return &t.owed.TurnResult
	}
	return result
}

// givenOwed reports whether the turn owed a result that Temporal has taken: it waits for another turn then.
func (t *turnRun) givenOwed() bool { return t.owed != nil && t.owed.taken.Load() }

// reach is what the turns of a process know about Temporal. While it does not answer one of them tries at a time,
// and the others go on.
type reach struct {
	log *slog.Logger

	mu    sync.Mutex
	since time.Time // when it stopped answering, zero while it answers
	next  time.Time // when another turn tries
}

// answers reports whether Temporal has taken the newest end of a turn.
func (r *reach) answers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since.IsZero()
}

// away reports whether Temporal does not answer, as far as is known, and no turn is to try now.
func (r *reach) away(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.since.IsZero() && now.Before(r.next)
}

// enter reports whether a turn may try to complete, whose loop has its next slot at next, and how long it may take.
func (r *reach) enter(now, next time.Time) (limit time.Duration, may bool) {
	limit = max(leastTry, min(next.Sub(now)-tryMargin, mostTry))
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.since.IsZero():
	case now.Before(r.next):
		return 0, false
	default:
		r.next = now.Add(limit + retryPause)
	}
	return limit, true
}

func (r *reach) answered(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.since.IsZero() {
		r.log.Info("Temporal answers again", "after", now.Sub(r.since).Round(time.Second))
		r.since = time.Time{}
	}
}

func (r *reach) failed(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		r.log.Warn("Temporal does not take the end of a turn: probing goes on without it")
		r.since = now
	}
	r.next = now.Add(retryPause)
}
