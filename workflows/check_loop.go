// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// The signals and queries of a loop.
const (
	// SignalReconfigure carries the new revision after the definition has changed.
	SignalReconfigure = "reconfigure"
	// SignalNudge restarts the turn: the running one may be lost, or results were
	// stored that the state of the loop does not include.
	SignalNudge = "nudge"
	// SignalStop ends the loop. It carries the revision at which the loop must end; a
	// loop at a newer revision ignores it. With zero, or without a payload, it always
	// ends the loop.
	SignalStop = "stop"
	// QueryState returns a vigil.LoopState.
	QueryState = "state"
)

const (
	// maxTurns limits the history of a run to about 1,500 events; then the workflow
	// continues as new.
	maxTurns = 250
	// maxWideTurns limits it to about 300 where turns cover several slots. The workers keep
	// no more than some of the loops that have such turns in memory, and read the history of
	// another one at each of its turns.
	maxWideTurns = 50
	// A failed turn is repeated after a pause, which doubles from minPause to maxPause.
	minPause = time.Second
	maxPause = time.Minute
)

// errOutdated is logged when a turn ended because of a definition that is older than the
// loop's revision.
var errOutdated = errors.New("the worker's definition is older than the loop's revision")

// LoopInput starts or continues a loop. A new loop has the ids and the revision only.
type LoopInput struct {
	CheckID  uuid.UUID   `json:"check_id"`
	Region   string      `json:"region"`
	Revision int64       `json:"revision"`
	State    vigil.State `json:"state"`
	// Label names the loop for operators: the check's name and target.
	Label string `json:"label,omitempty"`
	// Name is the name of the check that the search attribute shows; empty: none.
	Name string `json:"name,omitempty"`
	// Reported: the loop has reported the region's vote, with Firing as its firing
	// rules. A new loop reports a vote after its first turn even when no rule fires,
	// because an older vote may be stored.
	Reported bool        `json:"reported,omitempty"`
	Firing   []uuid.UUID `json:"firing,omitempty"`
	// Plan is the result of the last turn, nil when that did not return normally.
	Plan *activities.TurnResult `json:"plan,omitempty"`
	// Span is the planned span of a lost turn at this revision. The next turn keeps it,
	// since a lost turn says nothing about the check.
	Span int `json:"span,omitempty"`
	// Restored is the epoch of the last restore that the loop has compared its state with.
	Restored int64 `json:"restored,omitempty"`
}

// CheckLoop probes one check from one region as long as the check runs there. Every turn
// is one Watch activity, which waits for its slots itself. It returns nil when the check
// is deleted, disabled or removed from the region. It also ends when an operator cancels
// it; the sweep then starts another.
//
// The worker caches a waiting loop with its stack, whose size depends on the values in
// use while it waits. Therefore its functions pass pointers.
func CheckLoop(ctx workflow.Context, in *LoopInput) error {
	l := &checkLoop{in: in, pause: minPause}
	if err := l.open(ctx); err != nil {
		return err
	}
	for {
		l.turns++
		l.turn(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.reportVote(ctx)
		if finished, err := l.finished(ctx); finished {
			return err
		}
	}
}

// checkLoop is the state of a running loop.
type checkLoop struct {
	in                       *LoopInput
	reconfigure, nudge, stop workflow.ReceiveChannel

	turns      int
	cancelTurn workflow.CancelFunc // cancels the running turn
	pause      time.Duration       // before a failed turn is repeated
	done       bool
	name       string // of the check, as the last turn that named it has read it
	nameless   bool   // the last such turn said that it must not be shown
	run        string // of the reset workflow in which a turn has compared its state; empty: none has
}

// open sets up the signals and the query of the loop.
func (l *checkLoop) open(ctx workflow.Context) error {
	l.reconfigure = workflow.GetSignalChannel(ctx, SignalReconfigure)
	l.nudge = workflow.GetSignalChannel(ctx, SignalNudge)
	l.stop = workflow.GetSignalChannel(ctx, SignalStop)
	if err := workflow.SetQueryHandler(ctx, QueryState, l.query(workflow.GetInfo(ctx))); err != nil {
		return fmt.Errorf("set the query handler: %w", err)
	}
	l.describe(ctx)
	return nil
}

// finished reports whether the run ends: either the loop is done, or its history is long
// enough to continue as new.
func (l *checkLoop) finished(ctx workflow.Context) (bool, error) {
	full := l.longEnough() || workflow.GetInfo(ctx).GetContinueAsNewSuggested() || l.renamed()
	if full || l.done {
		l.drain()
	}
	if full && !l.done {
		if err := l.showName(ctx); err != nil {
			return true, err
		}
		return true, workflow.NewContinueAsNewError(ctx, CheckLoop, l.in)
	}
	return l.done, nil
}

// longEnough reports whether the run has as many turns as it may have.
func (l *checkLoop) longEnough() bool {
	return l.turns >= maxTurns || l.turns >= maxWideTurns && l.span() > 1
}

// turn runs one Watch to its end, or abandons it for a signal.
func (l *checkLoop) turn(ctx workflow.Context) {
	watch := l.watch(ctx)
	if l.wait(ctx, watch) {
		l.forgetPlan()
	} else {
		l.applyTurn(ctx, watch)
	}
	l.cancelTurn() // so that the server does not wait for an abandoned turn
}

// watch starts the activity of a turn.
func (l *checkLoop) watch(ctx workflow.Context) workflow.Future {
	ctx, l.cancelTurn = workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: activities.TurnTimeout(l.in.Region, l.span()),
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	}))
	var watcher *activities.Watcher
	return workflow.ExecuteActivity(ctx, watcher.Watch, l.next(ctx))
}

// reportVote reports the region's vote when the firing rules differ from the last reported
// ones and the turn has not reported them itself. It waits until that is done, since the next
// turn may produce another vote; only the end of the loop interrupts the wait.
func (l *checkLoop) reportVote(ctx workflow.Context) {
	state := l.in.State
	if l.done || l.in.Plan == nil || state.Slot.IsZero() || l.in.Reported && slices.Equal(l.in.Firing, state.Firing) {
		return
	}
	options := retryForever(10 * time.Second)
	options.Summary = fmt.Sprintf("%d rules fire, trace %s", len(state.Firing), vigil.SlotTrace(l.in.CheckID, l.in.Region, state.Slot))
	reportCtx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	defer cancel()
	reported := workflow.ExecuteActivity(reportCtx, activities.NameReportVote, l.in.CheckID, vigil.Vote{
		Region: l.in.Region, Revision: l.in.Plan.Revision, Slot: state.Slot, Failures: state.Failures,
		Firing: state.Firing, Matches: state.Matches,
	})
	for l.wait(ctx, reported) {
		if l.done {
			return
		}
		l.forgetPlan() // after a nudge there may be stored results that the state does not include
	}
	if err := reported.Get(ctx, nil); err != nil { // only a cancelled workflow: the activity is retried until it succeeds
		workflow.GetLogger(ctx).Warn("vote not reported", "error", err)
		return
	}
	l.in.Reported, l.in.Firing = true, state.Firing
}

// next returns the argument of the next turn. Without the result of the turn before, there
// may be stored results that the state does not include.
func (l *checkLoop) next(ctx workflow.Context) *activities.Turn {
	turn := &activities.Turn{
		CheckID: l.in.CheckID, Region: l.in.Region, Revision: l.in.Revision, State: l.in.State,
		Span: max(1, l.span()), Recover: l.in.Plan == nil || l.in.Plan.Behind, Reset: l.reset(ctx), Restored: l.in.Restored,
	}
	if l.in.Plan != nil {
		turn.By = l.in.Plan.By
	}
	return turn
}

// span is how many slots are planned for the next turn, 0 when that is unknown: a plan of
// an older revision does not count, because its slots may differ.
func (l *checkLoop) span() int {
	switch {
	case l.in.Plan == nil:
		return l.in.Span
	case l.in.Plan.Revision >= l.in.Revision:
		return l.in.Plan.Span
	default:
		return 0
	}
}

// reason says why the running turn has its span.
func (l *checkLoop) reason() vigil.TurnReason {
	switch {
	case l.span() == 0:
		return vigil.TurnGrowing
	case l.in.Plan == nil:
		return vigil.TurnKept
	default:
		return l.in.Plan.Reason
	}
}

// forgetPlan drops the plan of a turn that did not return normally, but keeps its span.
func (l *checkLoop) forgetPlan() {
	l.in.Span, l.in.Plan = l.span(), nil
}

// wait waits for a future or a signal. It returns false when the future is ready, and true
// when a signal interrupts the wait.
func (l *checkLoop) wait(ctx workflow.Context, ready workflow.Future) bool {
	interrupted, finished := false, false
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(l.stop, func(c workflow.ReceiveChannel, _ bool) {
		var revision int64
		c.Receive(ctx, &revision)
		interrupted = l.handleStop(revision)
	})
	selector.AddReceive(l.reconfigure, func(c workflow.ReceiveChannel, _ bool) {
		var revision int64
		c.Receive(ctx, &revision)
		interrupted = l.observeRevision(revision)
	})
	selector.AddReceive(l.nudge, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		interrupted = true
	})
	selector.AddFuture(ready, func(workflow.Future) { finished = true })
	for !interrupted && !finished {
		selector.Select(ctx)
	}
	return interrupted
}

// observeRevision stores a revision and reports whether it is newer than the loop's.
func (l *checkLoop) observeRevision(revision int64) bool {
	if revision <= l.in.Revision {
		return false
	}
	l.in.Revision = revision
	l.in.Span = 0
	return true
}

// handleStop handles a stop signal and reports whether it ends the loop. A stop with an
// older revision is late: the region has been added again since, and the stop is for the
// loop that ran there before. A stop that counts also updates the revision, so that
// earlier signals about it have no effect.
func (l *checkLoop) handleStop(revision int64) bool {
	if revision != 0 && revision < l.in.Revision {
		return false
	}
	l.observeRevision(revision)
	l.done = true
	return true
}

// pauseAfterFailure waits before a failed turn is repeated. A signal cuts the wait short.
func (l *checkLoop) pauseAfterFailure(ctx workflow.Context, err error) {
	workflow.GetLogger(ctx).Warn("turn failed", "error", err, "pause", l.pause)
	l.forgetPlan()
	timerCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	l.wait(ctx, workflow.NewTimer(timerCtx, l.pause))
	l.pause = min(2*l.pause, maxPause)
}

// applyTurn applies the result of a turn.
func (l *checkLoop) applyTurn(ctx workflow.Context, watch workflow.Future) {
	var result activities.TurnResult
	if err := watch.Get(ctx, &result); err != nil {
		l.pauseAfterFailure(ctx, err)
		return
	}
	l.observeName(&result)
	l.in.State, l.in.Restored = result.State, max(l.in.Restored, result.Restored)
	l.run = cmp.Or(result.Run, l.run)
	l.observeRevision(result.Revision)
	if result.End == vigil.TurnGone {
		l.handleGone(ctx, result.Revision)
		return
	}
	l.pause = minPause
	l.in.Plan = &result
	l.in.Reported = l.in.Reported && !result.Restarted
	if result.Reported || result.Voted {
		l.in.Reported, l.in.Firing = true, result.State.Firing
	}
	l.describe(ctx)
}

// handleGone ends the loop when the check does not exist, or does not run in this region
// at the loop's revision or a newer one. An older revision means that the worker has read
// an outdated definition: the turn is repeated like a failed one.
func (l *checkLoop) handleGone(ctx workflow.Context, revision int64) {
	l.in.Plan = nil
	l.done = revision >= l.in.Revision || revision == 0
	if !l.done {
		l.pauseAfterFailure(ctx, errOutdated)
	}
}

// drain handles the waiting signals, so that none is lost when the run ends. A newer
// revision keeps the loop running: the check was disabled and enabled again, or the region
// removed and added again, before the loop ended.
func (l *checkLoop) drain() {
	for l.nudge.ReceiveAsync(nil) {
		l.forgetPlan()
	}
	var revision int64
	for l.stop.ReceiveAsync(&revision) {
		l.handleStop(revision)
		revision = 0 // a stop without a payload would keep the value of the one before
	}
	for l.reconfigure.ReceiveAsync(&revision) {
		if l.observeRevision(revision) {
			l.done = false
		}
	}
}

// describe sets the current details of the workflow, which operators see in Temporal's UI.
func (l *checkLoop) describe(ctx workflow.Context) {
	state, text := l.in.State, "in its first turn, no result reported yet"
	switch {
	case state.Slot.IsZero():
	case state.Health == vigil.Unhealthy:
		text = fmt.Sprintf("**%s**, %d failed in a row, the last at %s", state.Health, state.Failures, state.Slot.Format(time.RFC3339Nano))
	default:
		text = fmt.Sprintf("**%s** at %s", state.Health, state.Slot.Format(time.RFC3339Nano))
	}
	if l.in.Label != "" {
		text = l.in.Label + "\n\n" + text
	}
	workflow.SetCurrentDetails(ctx, text)
}
