// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// turnCompleter completes turns in Temporal.
type turnCompleter interface {
	// CompleteTurn gives the workflow of a loop the result of its turn, or the error with
	// which the turn failed. It fails with CodeNotFound when the workflow does not wait for
	// this turn.
	CompleteTurn(ctx context.Context, loop vigil.OpenTurn, result *TurnResult, failure error) error
	// RepeatTurn makes the loop begin another turn. It is no error when no workflow runs.
	RepeatTurn(ctx context.Context, loop vigil.OpenTurn) error
}

// loopOwners knows which worker owns a loop.
type loopOwners interface {
	// OwnsLoop reports whether the loop belongs to the worker of a lease that was revoked,
	// and was not nudged since.
	OwnsLoop(ctx context.Context, checkID uuid.UUID, lease fleet.Lease) (bool, error)
	// OwnedLoops returns those of some checks whose loops in the region of a lease belong to its worker.
	OwnedLoops(ctx context.Context, lease fleet.Lease, checks []uuid.UUID) ([]uuid.UUID, error)
}

// errLeft is the error of a turn that is left open in Temporal, and must not be completed: another
// worker has adopted it, or will.
var errLeft = errors.New("this turn is left to another worker")

const (
	// adoptions is how many adopted turns read their results at a time. Thousands come
	// together, and those that are due first are first.
	adoptions = 8
	// A completion that fails is repeated after a pause, which doubles.
	minCompletePause = 500 * time.Millisecond
	maxCompletePause = 5 * time.Second
	// ownerPause is the pause between two questions which worker owns a loop.
	ownerPause = 500 * time.Millisecond
)

// turnCall is the activity of a turn.
type turnCall struct {
	// TurnActivity is what a row names. Its RunID is zero where run is no UUID, as that of a
	// server always is.
	vigil.TurnActivity

	workflow, run      string
	scheduled, started time.Time
	figures            client.MetricsHandler // of a turn apart from its activity
}

type callKey struct{}

// callIn returns the call of a turn that runs apart from its activity, nil in an activity.
func callIn(ctx context.Context) *turnCall {
	call, _ := ctx.Value(callKey{}).(*turnCall)
	return call
}

// callOf returns the call of an activity.
func callOf(ctx context.Context) *turnCall {
	info := activity.GetInfo(ctx)
	run, _ := uuid.Parse(info.WorkflowExecution.RunID)
	return &turnCall{
		TurnActivity: vigil.TurnActivity{RunID: run, ActivityID: info.ActivityID, Ends: info.Deadline},
		workflow:     info.WorkflowExecution.ID, run: info.WorkflowExecution.RunID,
		scheduled: info.ScheduledTime, started: info.StartedTime,
	}
}

// turnsApart are the turns that run apart from their activity: it has returned
// activity.ErrResultPending, and the turn completes it by its ID. Such a turn can be completed
// by another worker as well, so when a worker dies the others adopt its turns, and Temporal
// has nothing to do. While it waits it holds a small stack, without that of the SDK.
type turnsApart struct {
	ctx    context.Context //nolint:containedctx // of turns, which outlive the context of their activity
	cancel context.CancelFunc
	places chan struct{} // of adopted turns that read their results

	mu      sync.Mutex
	drained bool // no turn begins any more
	turns   sync.WaitGroup
}

// start runs a turn on a goroutine of its own, unless the turns have been drained.
func (a *turnsApart) start(run func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.drained {
		a.turns.Go(run)
	}
}

func newTurnsApart() *turnsApart {
	ctx, cancel := context.WithCancel(context.Background())
	return &turnsApart{ctx: ctx, cancel: cancel, places: make(chan struct{}, adoptions)}
}

// enter waits for a place to read results.
func (a *turnsApart) enter(ctx context.Context) error {
	select {
	case a.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *turnsApart) leave() { <-a.places }

// startApart starts a turn apart from its activity, and the turns that go on in the place of the next
// one while Temporal does not take its end.
func (w *Watcher) startApart(t *turnRun) {
	t.call.figures = w.Figures
	w.apart.start(func() {
		for t != nil {
			// The deadline of the turn is set where it reads and probes: the timer of a context is too much for one that waits.
			result, err := w.runTurn(context.WithValue(w.apart.ctx, callKey{}, t.call), t)
			if w.apart.ctx.Err() != nil || errors.Is(err, errLeft) {
				return
			}
			t = w.complete(t, result, err)
		}
	})
}

// complete completes a turn. While Temporal is away it returns the turn that goes on meanwhile; where
// none can it tries until Temporal has given the turn up.
func (w *Watcher) complete(t *turnRun, result *TurnResult, failure error) *turnRun {
	ahead := w.turnAhead(t, result, failure)
	if !t.lost.IsZero() { // Temporal has taken the end of the turn before it
		if ahead == nil {
			w.expected.over(t.turn.key())
		}
		return ahead
	}
	if ahead != nil {
		w.expect(ahead, t, result.Next)
		if limit, may := w.reach.enter(w.Now(), result.Next); may {
			ctx, cancel := context.WithTimeout(w.apart.ctx, limit)
			defer cancel()
			if w.tryComplete(ctx, t, result, nil) {
				w.expected.taken(t)
				return nil
			}
		}
		w.expected.drop(t)
		if t.owed == nil && ahead.owed != nil {
			w.apart.start(func() { w.giveOwed(t, ahead) })
		}
		return ahead
	}
	if t.owed != nil && failure != nil && !errors.Is(failure, ErrSuperseded) {
		result, failure = &t.owed.TurnResult, nil // the turn after it folds what is stored, as after one that failed
	}
	ctx, cancel := context.WithDeadline(w.apart.ctx, t.call.Ends)
	defer cancel()
	for pause := minCompletePause; ctx.Err() == nil; pause = min(2*pause, maxCompletePause) {
		if w.tryComplete(ctx, t, result, failure) {
			break
		}
		_ = timing.Sleep(ctx, pause) // the loop sees whether ctx has ended
	}
	return nil
}

// tryComplete makes one attempt to complete a turn, and reports whether it needs no other one. When the
// workflow waits for another turn than the one that was adopted, that one is lost: it had begun before the
// worker died, and had no result yet.
func (w *Watcher) tryComplete(ctx context.Context, t *turnRun, result *TurnResult, failure error) bool {
	open := t.open()
	err := w.Completer.CompleteTurn(ctx, open, t.taken(result), failure)
	if err != nil && vigil.ErrorCode(err) == vigil.CodeNotFound {
		if !t.ahead { // else an earlier try to end it may have been taken
			w.expected.unknown(t)
		}
		if err = nil; t.adopted && !t.givenOwed() && !errors.Is(failure, ErrSuperseded) {
			err = w.Completer.RepeatTurn(ctx, open)
		}
	}
	if err == nil {
		if t.owed != nil {
			t.owed.taken.Store(true)
		}
		w.reach.answered(w.Now())
		return true
	}
	if w.apart.ctx.Err() == nil {
		w.reach.failed(w.Now())
	}
	w.Log.WarnContext(ctx, "turn not completed", "check", open.CheckID, "region", open.Region, "error", err)
	return false
}

// Adopt runs the open turns of workers that died. They end when stop is closed, as the turns
// of a worker that stops. fence is that of the lease of their region, from before they were
// made loops of this worker.
func (w *Watcher) Adopt(turns []vigil.OpenTurn, fence int64, stop <-chan struct{}) {
	for i := range turns {
		open := &turns[i]
		t := w.newTurn(&Turn{
			CheckID: open.CheckID, Region: open.Region, Revision: open.Revision, Span: max(1, open.Slots), Recover: true, By: w.shortName,
		}, &turnCall{
			TurnActivity: open.TurnActivity,
			workflow:     vigil.LoopID(open.CheckID, open.Region), run: open.RunID.String(), started: w.Now(),
		}, fence, stop)
		t.adopted, t.named = true, true
		w.expected.forget(t.turn.key())
		w.startApart(t)
	}
}

// Drain waits until the turns that run apart have ended, and cancels them when ctx ends. A turn
// that begins afterwards is left open.
func (w *Watcher) Drain(ctx context.Context) {
	w.apart.mu.Lock()
	w.apart.drained = true
	w.apart.mu.Unlock()
	w.Rest(ctx)
	w.apart.cancel()
	w.apart.turns.Wait()
}

// Rest waits until the turns that run apart have ended, or ctx ends.
func (w *Watcher) Rest(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.apart.turns.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// open identifies the turn.
func (t *turnRun) open() vigil.OpenTurn {
	return vigil.OpenTurn{
		CheckID: t.turn.CheckID, Region: t.turn.Region, Revision: t.turn.Revision, Slots: t.plan.Span, TurnActivity: t.call.TurnActivity,
	}
}

// owns reports whether the loop is still that of this worker, whose lease had expired. Where it
// is not, another one may have adopted the turn.
func (t *turnRun) owns(ctx context.Context) bool {
	for {
		owns, err := t.Owners.OwnsLoop(ctx, t.turn.CheckID, fleet.Lease{Worker: t.Worker, Region: t.turn.Region})
		if err == nil {
			return owns
		}
		t.Log.WarnContext(ctx, "it is not known whose turn this is", "check", t.turn.CheckID, "region", t.turn.Region, "error", err)
		pause := time.NewTimer(ownerPause)
		select {
		case <-pause.C:
			continue
		case <-t.lock.superseded:
		case <-t.stop:
		case <-ctx.Done():
		}
		pause.Stop()
		return false
	}
}

// moved is the error of a turn whose loop another worker has. When this one was without its
// lease, the other one may have adopted the turn, which must not be completed here then.
func (t *turnRun) moved() error {
	if fence, ok := t.Lease.Holds(t.turn.Region); t.Completer != nil && (!ok || fence != t.fence) {
		return errLeft
	}
	return ErrSuperseded
}
