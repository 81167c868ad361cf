// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
)

// Turn is the argument of Watch: continue the loop from State.
type Turn struct {
	CheckID uuid.UUID `json:"check_id"`
	Region  string    `json:"region"`
	// Revision is the newest revision that the loop knows; the turn uses the
	// definition of that revision or a newer one.
	Revision int64       `json:"revision"`
	State    vigil.State `json:"state"`
	// Span is how many slots the turn may cover, at least 1. It ends before, at the
	// phase of its loop: see vigil.TurnSlots.
	Span int `json:"span"`
	// Recover: the turn before did not return normally, so there may be stored
	// results that State does not include.
	Recover bool `json:"recover,omitempty"`
	// By is the short name of the worker that ran the turn before.
	By string `json:"by,omitempty"`
	// Reset: an operator has reset the workflow, and no turn has ended since: State may be old.
	Reset bool `json:"reset,omitempty"`
	// Restored is the epoch of the last restore that the loop has compared its state with.
	Restored int64 `json:"restored,omitempty"`
}

func (t *Turn) key() loopKey { return loopKey{Check: t.CheckID, Region: t.Region} }

// TurnResult is the result of Watch.
type TurnResult struct {
	End   vigil.TurnEnd `json:"end"`
	State vigil.State   `json:"state"`
	// Revision of the definition that the turn used.
	Revision int64 `json:"revision"`
	// Span is how many slots the next turn may cover, at least 1, Reason says why, and Next is
	// the first of them.
	Span   int              `json:"span"`
	Reason vigil.TurnReason `json:"reason,omitempty"`
	Next   time.Time        `json:"next,omitzero"`
	// By is the short name of the worker that ran the turn.
	By string `json:"by,omitempty"`
	// Behind: there are stored results that State does not include, because the last
	// included one changed which rules fire.
	Behind bool `json:"behind,omitempty"`
	// Restarted: the vote that the loop reported last does not count any more. State includes
	// the first result of a new schedule, for example after the check was enabled again, or the
	// turn has reported another vote meanwhile.
	Restarted bool `json:"restarted,omitempty"`
	// Reported: the vote of State, with its firing rules, is stored and signaled. The loop need
	// not report it.
	Reported bool `json:"reported,omitempty"`
	// Voted is Reported in recorded histories, where no rule fires in the first vote of a loop.
	Voted bool `json:"voted,omitempty"`
	// Run is the run of the workflow after it was reset, for which the state is compared.
	// Restored is the epoch of the last restore for which it is; an adopted turn gives none.
	Run      string `json:"run,omitempty"`
	Restored int64  `json:"restored,omitempty"`
	ShownName
}

// goesOn reports whether the loop goes on with a turn of this process after that of the result; nil: there is none.
func (r *TurnResult) goesOn() bool {
	return r != nil && r.End != vigil.TurnGone && r.End != vigil.TurnHandOver
}

// ErrSuperseded is the error of a turn that a newer turn of the same loop replaced.
var ErrSuperseded = errors.New("a newer turn of this loop took over")

// Watch runs one turn of a loop: it waits for the next slot, probes at its time, stores
// the result and evaluates the rules. It repeats this until vigil.NextTurnStep says that the turn
// ends: after its last slot, or when health or the firing rules change. Watch itself waits for a
// slot, since a timer of the Temporal server would double the state transitions of a turn and be
// less precise than a millisecond.
//
// It returns an error when Postgres cannot be used, and ErrSuperseded when a newer turn
// replaces it; the loop then starts another turn with Recover set.
//
// With WatcherOptions.Completer it returns activity.ErrResultPending at once, and the turn runs
// apart: see turnsApart.
func (w *Watcher) Watch(ctx context.Context, turn *Turn) (*TurnResult, error) {
	fence, ok := w.Lease.Holds(turn.Region)
	if !ok {
		return w.refuse(ctx, turn)
	}
	if w.stale(ctx) {
		return nil, ErrSuperseded
	}
	t := w.newTurn(turn, callOf(ctx), fence, activity.GetWorkerStopChannel(ctx))
	t.afterLost = w.expected.forget(turn.key())
	if w.Completer == nil {
		return w.runTurn(ctx, t)
	}
	w.startApart(t) //nolint:contextcheck // the turn outlives the context of its activity
	return nil, activity.ErrResultPending
}

// turnRun is one running turn.
type turnRun struct {
	*Watcher
	turn  *Turn
	call  *turnCall
	lock  *turnLock
	fence int64 // of the lease under which the turn began
	stop  <-chan struct{}
	// adopted: another worker began the turn, and died. named: the row of the loop names the
	// turn, so that another worker can adopt it.
	// ahead: Temporal has not taken the end of the turn before, see turn_ahead.go. owed is what the loop has to
	// act on before results of this turn, nil for nothing.
	adopted, named, ahead bool
	owed                  *owedResult
	// lost is until when it begins slots where Temporal does not bring the turn, see turn_lost.go; zero: it has.
	// afterLost: such a turn ran here before this one, and has stored results that the state does not include.
	lost      time.Time
	afterLost bool

	state vigil.State
	// reported is the state whose firing rules the newest vote has, and vote what the turn did
	// about it.
	reported vigil.State
	vote     voteStatus
	plan     vigil.TurnPlan
	schedule vigil.Schedule // of the loop, when the last step was decided
	covered  int            // slots that the turn has covered
	latest   time.Time      // after which it begins no slot
	// arrival is the wait for pings, nil for a check that is probed.
	arrival *arrivalWait
	// sent is the wait for results of agents, nil where the worker probes.
	sent *sentWait
	// out has what the turn has found out for its loop: Behind, Restarted, Run and Restored.
	out TurnResult
}

// voteStatus is what a turn knows about the vote of turnRun.reported.
type voteStatus int

const (
	voteOfLoop   voteStatus = iota // it is the one that the loop knows
	voteReported                   // it is stored and signaled, and the loop may not know it
	voteFailed                     // a newer one could not be reported
)

// newTurn returns a turn that has not begun.
func (w *Watcher) newTurn(turn *Turn, call *turnCall, fence int64, stop <-chan struct{}) *turnRun {
	return &turnRun{
		Watcher: w, turn: turn, call: call, fence: fence, stop: stop,
		state: turn.State, reported: turn.State, out: TurnResult{Restored: turn.Restored},
	}
}

// runTurn runs a turn to its end. A panic is an error of the turn.
//
// Tens of thousands of turns wait at the same time, each on its own stack. What they need
// while they wait is on the heap, which halves the stack: hence the pointers.
func (w *Watcher) runTurn(ctx context.Context, t *turnRun) (result *TurnResult, err error) {
	defer t.recovered(ctx, &result, &err)
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer func() { t.leave(result) }()
	if t.turn.Recover && !t.adopted {
		w.budget.Take(w.Now()) // the end of a turn has taken the token of the next one, unless it was lost
	}
	if err := t.recover(ctx); err != nil {
		return nil, err
	}
	result, err = t.run(ctx)
	t.ended(ctx, result, err)
	return result, err
}

// recovered makes a panic of the turn its error. It is deferred.
func (t *turnRun) recovered(ctx context.Context, result **TurnResult, err *error) {
	if failed := recover(); failed != nil {
		t.Log.ErrorContext(ctx, "turn panicked", "check", t.turn.CheckID, "region", t.turn.Region,
			"panic", failed, "stack", string(debug.Stack()))
		*result, *err = nil, temporal.NewApplicationError(fmt.Sprintf("panic: %v", failed), "panic")
	}
}

// begin takes what the turn holds until its end: the loop's turns of this process, and its part of the budget.
func (t *turnRun) begin(ctx context.Context) error {
	if t.lock = t.lockTurn(ctx, t.turn, t.call.scheduled); t.lock == nil {
		return ErrSuperseded
	}
	t.budget.Begin(t.lock.key, t.Now())
	return nil
}

// ended names and counts the end of the turn.
func (t *turnRun) ended(ctx context.Context, result *TurnResult, err error) {
	if result == nil || result.End == vigil.TurnHandOver {
		t.claims.remove(t.lock.key)
	}
	t.nameIn(ctx, result)
	countTurn(ctx, result, err)
}

// leave gives back what the turn held until its end, of which the result is nil after an error.
func (t *turnRun) leave(result *TurnResult) {
	// After a hand-over the next turn is one of another process.
	if t.arrival != nil {
		t.Arrivals.leave(t.arrival)
	}
	if t.sent != nil {
		t.Inbox.leave(t.sent)
	}
	t.budget.End(t.lock.key, result.goesOn(), t.Now())
	t.locks.release(t.lock)
}

// await waits until an instant, and covers the slot that is due then. It returns why the wait
// ended.
func (t *turnRun) await(ctx context.Context, e *entry, until time.Time) (waitResult, error) {
	switch {
	case e.heartbeat != nil:
		return t.awaitArrival(ctx, e, t.arrivalLimit())
	case t.sends():
		return t.awaitSent(ctx, e, t.arrivalLimit())
	}
	if why := t.awaitInstant(ctx, e, until); why != due {
		return why, nil
	}
	return t.cover(ctx, e)
}

// cover covers the slot that is due, if one is. It returns why the turn must not go on, or due.
func (t *turnRun) cover(ctx context.Context, e *entry) (waitResult, error) {
	schedule := t.schedule
	slot := schedule.Due(t.state.Slot, t.Now())
	if slot.After(t.Now()) {
		return due, nil
	}
	if passed, err := t.passOver(ctx, e, slot); passed || err != nil {
		return due, err
	}
	place, why := t.acquire(ctx, e, schedule.Next(t.state.Slot), t.lastBegin(e.deadline()))
	if why != due {
		return why, nil
	}
	// After a wait for the place a newer slot may be due; those before it are missed.
	slot = schedule.Due(t.state.Slot, t.Now())
	if passed, err := t.passOver(ctx, e, slot); passed || err != nil {
		place.Leave()
		return due, err
	}
	by := t.lag(schedule, slot)
	why, err := t.probeSlot(ctx, e, schedule, slot, place)
	switch {
	case why != due:
		return why, nil
	case err != nil:
		return t.unstored(err)
	}
	t.measure(e, by)
	t.covered++
	return due, nil
}

// unstored returns what follows for the turn from the error of a result that was not stored.
func (t *turnRun) unstored(err error) (waitResult, error) {
	switch vigil.ErrorCode(err) {
	case vigil.CodeNotFound:
		return gone, nil
	case vigil.CodeConflict:
		return due, t.moved()
	default:
		return due, err
	}
}

// end returns the result of the turn and plans the next one. A vote that the loop would have to
// report is reported here: an activity of its own would be three state transitions, and an
// incident would open that much later. What does not succeed soon is left to the loop, which
// tries until it does.
func (t *turnRun) end(ctx context.Context, reason vigil.TurnEnd, e *entry, schedule vigil.Schedule) *TurnResult {
	out := &t.out
	out.End, out.State, out.Revision, out.Span, out.By = reason, t.state, e.Check.Revision, 1, t.shortName
	if t.adopted {
		out.Restored = 0
	}
	if reason == vigil.TurnGone {
		return out
	}
	t.reportLast(ctx, e.Check.Revision)
	out.Reported = t.vote == voteReported && !t.firingChanged() && !out.Behind && !out.Restarted
	began := t.turn.State.Slot.Before(schedule.Start) && !t.state.Slot.Before(schedule.Start)
	out.Restarted = !out.Reported && (out.Restarted || began || t.vote != voteOfLoop)
	out.Span, out.Reason = t.nextSpan(reason, schedule)
	out.Next = schedule.Due(t.state.Slot, t.Now())
	return out
}

// nextSpan returns how many slots the next turn may cover, and why. The end of a turn takes the
// token of the next one from the budget, unless that is one of another process.
func (t *turnRun) nextSpan(end vigil.TurnEnd, schedule vigil.Schedule) (int, vigil.TurnReason) {
	now := t.Now()
	s := vigil.TurnSpan{End: end, Covers: cmp.Or(t.plan.Span, t.span(schedule))}
	s.Most, s.Reason = t.most(now, schedule)
	s.Within = end != vigil.TurnHandOver && t.budget.Take(now)
	return vigil.NextTurnSlots(s)
}

// span is how many slots the turn before has planned for this one, within the window. The plan
// counts, and not what the budget of this process demands now: a worker that has just started
// does not know its loops yet.
func (t *turnRun) span(schedule vigil.Schedule) int {
	if t.TurnRate == 0 {
		return 1
	}
	return max(1, min(t.turn.Span, int(t.window()/schedule.Interval)))
}

// most returns how many slots the budget of this process demands of a turn, and why.
func (t *turnRun) most(now time.Time, schedule vigil.Schedule) (int, vigil.TurnReason) {
	return t.budget.Most(now, schedule.Interval, t.window(), rowsDecide(t.turn.Region))
}

// firingChanged reports whether other rules fire than in the last vote.
func (t *turnRun) firingChanged() bool { return !t.state.SameFiring(t.reported) }

// definition returns the definition at the turn's revision or a newer one. Only a
// restored Postgres has an older one, until the restore is noticed.
func (t *turnRun) definition(ctx context.Context) (*entry, error) {
	e, err := t.Catalogue.definition(ctx, t.turn.CheckID, t.turn.Revision)
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	return e, nil
}
