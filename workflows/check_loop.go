package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/activities"
)

// The messages that a loop takes.
const (
	// SignalReconfigure carries a revision: the definition has changed.
	SignalReconfigure = "reconfigure"
	// SignalNudge says that the turn under way may be lost, or that rows were
	// stored that the loop has not seen.
	SignalNudge = "nudge"
	// SignalStop ends the loop. It carries the revision at which the loop had to
	// end, and is nothing to one that runs at a newer revision; with zero, or
	// without a payload, it always counts.
	SignalStop = "stop"
	// QueryState answers with a vigil.LoopState.
	QueryState = "state"
)

const (
	// maxTurns bounds a history to about 1,500 events before it is continued
	// as new.
	maxTurns = 250
	// A failed turn is repeated after firstPause, doubling to lastPause.
	minPause = time.Second
	maxPause = time.Minute
	// slack is what a turn may take beyond its slots and its probe: storing
	// the result, and being dispatched.
	slack = 30 * time.Second
	// maxWait bounds the wait of a turn whose slots the loop does not know
	// yet. No interval is longer than 30 days.
	maxWait = 30 * 24 * time.Hour
)

// errOutdated: a turn ended by a definition that is older than the loop.
var errOutdated = errors.New("the worker's definition is older than the loop's revision")

// LoopInput starts or continues a loop. A loop without a history is given the
// ids and the revision only.
type LoopInput struct {
	CheckID  uuid.UUID   `json:"check_id"`
	Region   string      `json:"region"`
	Revision int64       `json:"revision"`
	State    vigil.State `json:"state"`
	// Label names the loop for operators: the check's name and target.
	Label string `json:"label,omitempty"`
	// Told: the region has a vote, with Firing as the rules that fire. A loop
	// without a history always tells after its first turn, even that nothing
	// fires: an older vote may be stored.
	Reported bool        `json:"told,omitempty"`
	Firing   []uuid.UUID `json:"firing,omitempty"`
	// Plan is the end of the last turn, when that returned normally.
	Plan *activities.TurnResult `json:"plan,omitempty"`
	// Span is how many slots the turn was to cover that was lost, by this
	// definition: that it was lost says nothing of the check.
	Span int `json:"span,omitempty"`
}

// CheckLoop probes one check from one region for as long as the check runs
// there. Every turn is one Watch activity, which waits for its slot by itself.
// It returns nil when the check is deleted, disabled or leaves the region.
//
// What is live while the loop waits decides how large a stack it keeps in the
// cache of its worker. That is why its parts hand pointers to each other.
func CheckLoop(ctx workflow.Context, in *LoopInput) error {
	l := &checkLoop{in: in, pause: minPause}
	if err := l.open(ctx); err != nil {
		return err
	}
	for {
		l.turns++
		l.turn(ctx)
		l.reportVote(ctx)
		if over, err := l.finished(ctx); over {
			return err
		}
	}
}

// checkLoop is a loop under way.
type checkLoop struct {
	in                       *LoopInput
	reconfigure, nudge, stop workflow.ReceiveChannel

	turns      int
	cancelTurn workflow.CancelFunc // cancels the turn under way
	pause      time.Duration       // before a failed turn is repeated
	done       bool
}

// open opens the loop for signals and queries.
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

// finished reports whether the run ends here, for good or to be continued as new: a
// history does not grow without bound.
func (l *checkLoop) finished(ctx workflow.Context) (bool, error) {
	full := l.turns >= maxTurns || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
	if full || l.done {
		l.drain()
	}
	if full && !l.done {
		return true, workflow.NewContinueAsNewError(ctx, CheckLoop, l.in)
	}
	return l.done, nil
}

// turn runs one Watch to its end, or gives it up for a signal.
func (l *checkLoop) turn(ctx workflow.Context) {
	watch := l.watch(ctx)
	if l.wait(ctx, watch) {
		l.forgetPlan()
	} else {
		l.applyTurn(ctx, watch)
	}
	l.cancelTurn() // a turn that is left is cancelled, so that the server forgets it
}

// watch starts the turn.
func (l *checkLoop) watch(ctx workflow.Context) workflow.Future {
	ctx, l.cancelTurn = workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: l.timeout(ctx),
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	}))
	var watcher *activities.Watcher
	return workflow.ExecuteActivity(ctx, watcher.Watch, l.next())
}

// reportVote makes it known when other rules fire than the region's vote says, and
// waits until it is: the next turn may have the next vote. Only the end of the
// loop is not kept waiting.
func (l *checkLoop) reportVote(ctx workflow.Context) {
	state := l.in.State
	if l.done || l.in.Plan == nil || state.Slot.IsZero() || l.in.Reported && slices.Equal(l.in.Firing, state.Firing) {
		return
	}
	options := retryForever(10 * time.Second)
	options.Summary = fmt.Sprintf("%d rules fire", len(state.Firing))
	tellCtx, giveUp := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	defer giveUp()
	told := workflow.ExecuteActivity(tellCtx, activities.NameReportVote, l.in.CheckID, vigil.Vote{
		Region: l.in.Region, Revision: l.in.Plan.Revision, Slot: state.Slot, Failures: state.Failures,
		Firing: state.Firing, Matches: state.Matches,
	})
	for l.wait(ctx, told) {
		if l.done {
			return
		}
		l.forgetPlan() // whoever nudges knows of rows that the state does not
	}
	if err := told.Get(ctx, nil); err != nil { // not by its own fault: it is repeated until it succeeds
		workflow.GetLogger(ctx).Warn("vote not told", "error", err)
		return
	}
	l.in.Reported, l.in.Firing = true, state.Firing
}

// next is what the coming turn is asked. Without the end of the turn before,
// rows may be stored that the state does not know.
func (l *checkLoop) next() *activities.Turn {
	turn := &activities.Turn{
		CheckID: l.in.CheckID, Region: l.in.Region, Revision: l.in.Revision, State: l.in.State,
		Span: max(1, l.span()), Recover: l.in.Plan == nil || l.in.Plan.Behind,
	}
	if l.in.Plan != nil {
		turn.By = l.in.Plan.By
	}
	return turn
}

// span is how many slots are planned, 0 when that is not known: a plan by an older
// definition is for other slots.
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

// forgetPlan forgets the plan for a turn that did not end by it, but for its span.
func (l *checkLoop) forgetPlan() {
	l.in.Span, l.in.Plan = l.span(), nil
}

// timeout is the time by which the turn must have ended: its last slot, the
// longest probe and the slack.
func (l *checkLoop) timeout(ctx workflow.Context) time.Duration {
	if l.in.Plan == nil {
		return maxWait + slack
	}
	wait := max(0, l.in.Plan.Until.Sub(workflow.Now(ctx)))
	return wait + l.in.Plan.Deadline + slack
}

// wait returns false when the future is ready, true when a signal makes the
// loop give up what it waits for.
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

// observeRevision takes note of a revision and reports whether it was news.
func (l *checkLoop) observeRevision(revision int64) bool {
	if revision <= l.in.Revision {
		return false
	}
	l.in.Revision = revision
	l.in.Span = 0
	return true
}

// handleStop takes a stop and reports whether it ends the loop. One from before a
// region was added again comes late and is for the loop that was there then. One
// that counts is news like any revision: what was asked of the loop before it is
// over as well.
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

// applyTurn takes over what a turn told.
func (l *checkLoop) applyTurn(ctx workflow.Context, watch workflow.Future) {
	var result activities.TurnResult
	if err := watch.Get(ctx, &result); err != nil {
		l.pauseAfterFailure(ctx, err)
		return
	}
	l.in.State = result.State
	l.observeRevision(result.Revision)
	if result.End == activities.Gone {
		l.handleGone(ctx, result.Revision)
		return
	}
	l.pause = minPause
	l.in.Plan = &result
	l.in.Reported = l.in.Reported && !result.Restarted
	l.describe(ctx)
}

// handleGone ends the loop when the check does not run here by a revision as new as the
// loop's, or not at all. By an older one the worker has read what is out of date,
// and the turn is repeated like one that failed.
func (l *checkLoop) handleGone(ctx workflow.Context, revision int64) {
	l.in.Plan = nil
	l.done = revision >= l.in.Revision || revision == 0
	if !l.done && workflow.GetVersion(ctx, "pause-when-gone-is-old", workflow.DefaultVersion, 1) >= 1 {
		l.pauseAfterFailure(ctx, errOutdated)
	}
}

// drain takes the signals that wait, so that none is lost when the run ends. A
// revision newer than any the loop knew keeps it going: a check was disabled and
// enabled again, or a region removed and added, before the loop had ended.
func (l *checkLoop) drain() {
	for l.nudge.ReceiveAsync(nil) {
		l.forgetPlan()
	}
	var revision int64
	for l.stop.ReceiveAsync(&revision) {
		l.handleStop(revision)
		revision = 0 // a stop without a payload would leave the one before it
	}
	for l.reconfigure.ReceiveAsync(&revision) {
		if l.observeRevision(revision) {
			l.done = false
		}
	}
}

// describe shows operators where the loop stands.
func (l *checkLoop) describe(ctx workflow.Context) {
	state, text := l.in.State, "waiting for the first result"
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

// query answers for the state of the loop.
func (l *checkLoop) query(info *workflow.Info) func() (vigil.LoopState, error) {
	return func() (vigil.LoopState, error) {
		out := vigil.LoopState{
			State: l.in.State, Revision: l.in.Revision, Turns: l.turns, RunID: info.WorkflowExecution.RunID,
		}
		if l.in.Plan != nil {
			out.Next = l.in.Plan.Next
		}
		return out, nil
	}
}
