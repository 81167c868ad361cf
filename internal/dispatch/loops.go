// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// A test on demand waits testPickup for a worker, may take testTimeout in all, and
// then spends at most testNudge on nudging the loop.
const (
	testPickup  = 5 * time.Second
	testTimeout = 5 * time.Minute
	testNudge   = 2 * time.Second
	// testHeartbeat is after which silence of its worker a test is lost; it beats every
	// activities.HeartbeatInterval. The caller of a worker that died waits for that long. So it fails as well
	// when Temporal is away for longer, although a result that is stored stays.
	testHeartbeat = 20 * time.Second
)

// taskTimeout is how long the server waits before it gives the workflow task of a
// dead worker to another. Until then it holds signals back.
const taskTimeout = 5 * time.Second

// revisionStore keeps the applied revision of a loop.
type revisionStore interface {
	MarkApplied(ctx context.Context, loop vigil.Loop) error
}

// Loops starts, signals, queries and terminates the workflows of checks. Every call
// may be repeated: the workflow ID names the loop, and revisions order the changes.
type Loops struct {
	temporal client.Client
	store    revisionStore
	log      *slog.Logger
	options
}

// use reports that a region gets work, so that a worker of this process polls for it at once.
func (l *Loops) use(region string) {
	if l.used != nil {
		l.used(vigil.WorkerRegion(region))
	}
}

// NewLoops returns Loops that reach workflows through the client.
func NewLoops(temporal client.Client, store revisionStore, log *slog.Logger, opts ...Option) *Loops {
	return &Loops{temporal: temporal, store: store, log: log, options: optionsOf(opts)}
}

// Apply brings the workflow of a loop in line with its row: an active loop is
// started, or signalled its revision when it runs; an inactive one is signalled, and
// ends. The applied revision is stored once the server has accepted.
func (l *Loops) Apply(ctx context.Context, loop vigil.Loop) error {
	var err error
	switch {
	case loop.Active && loop.Applied == 0:
		err = l.start(ctx, loop)
	case loop.Active:
		err = l.signalWithStart(ctx, loop, workflows.SignalReconfigure, loop.Desired)
	default:
		err = l.signal(ctx, loop.CheckID, loop.Region, workflows.SignalReconfigure, loop.Desired)
	}
	if err != nil {
		return err
	}
	return l.store.MarkApplied(ctx, loop)
}

// Nudge makes a loop abandon its turn and start the next from the stored rows. A
// loop that does not run is started.
func (l *Loops) Nudge(ctx context.Context, loop vigil.Loop) error {
	return l.signalWithStart(ctx, loop, workflows.SignalNudge, nil)
}

// Stop asks the loop of a removed region to end; a loop that runs at a newer revision
// continues. Revision zero ends any loop: the check is deleted. It is not an error
// when none runs.
func (l *Loops) Stop(ctx context.Context, checkID uuid.UUID, region string, revision int64) error {
	return l.signal(ctx, checkID, region, workflows.SignalStop, revision)
}

// Terminate kills the workflow by ID; the caller must prevent a concurrent restart.
// It is for loops that do not stop, such as those of a region without a worker. It is
// not an error when none runs.
func (l *Loops) Terminate(ctx context.Context, checkID uuid.UUID, region string) error {
	err := l.temporal.TerminateWorkflow(ctx, vigil.LoopID(checkID, region), "", "the check no longer runs here")
	if isNotFound(err) {
		return nil
	}
	return wrap("terminate", err)
}

// Running reports whether the loop of a tombstone still runs, and signals it to stop
// again.
func (l *Loops) Running(ctx context.Context, stone vigil.Tombstone) (bool, error) {
	l.use(stone.Region)
	err := l.temporal.SignalWorkflow(ctx, vigil.LoopID(stone.CheckID, stone.Region), "", workflows.SignalStop, stone.Revision)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, wrap("stop", err)
}

// State queries the state of a running loop. It fails when none runs, or when no
// worker of its region answers before ctx ends.
func (l *Loops) State(ctx context.Context, checkID uuid.UUID, region string) (vigil.LoopState, error) {
	var state vigil.LoopState
	l.use(region)
	value, err := l.temporal.QueryWorkflow(ctx, vigil.LoopID(checkID, region), "", workflows.QueryState)
	if err != nil {
		return state, wrap("query", err)
	}
	return state, wrap("query", value.Get(&state))
}

// Test probes a check once, now, on a worker of the region, and nudges the loop when
// the result was stored. It fails with CodeUnavailable when no worker takes it within
// five seconds. When ctx ends, the test is canceled.
func (l *Loops) Test(ctx context.Context, check vigil.Check, region string, dryRun bool) (vigil.Result, error) {
	var result vigil.Result
	var answer activities.TestAnswer
	var watcher *activities.Watcher
	l.use(region)
	// The client retries while Temporal is away, until its context ends.
	whole, cancel := context.WithTimeout(ctx, testTimeout+testPickup)
	defer cancel()
	starting, cancelStart := context.WithTimeout(ctx, testPickup)
	defer cancelStart()
	handle, err := l.temporal.ExecuteActivity(starting, client.StartActivityOptions{
		ID:                     "test/" + check.ID.String() + "/" + region + "/" + uuid.NewString(),
		TaskQueue:              vigil.RegionQueue(region),
		ScheduleToStartTimeout: testPickup,
		ScheduleToCloseTimeout: testTimeout,
		HeartbeatTimeout:       testHeartbeat, // and heartbeats carry the cancellation back
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                bounded(check.Name),
		TypedSearchAttributes:  l.names.named(ctx, loopAttributes(check.OrgID, check.ID, region), check.Name),
	}, watcher.Test, activities.TestRequest{
		CheckID: check.ID, Region: region, Revision: check.Revision, DryRun: dryRun, Sealed: l.open != nil,
	})
	if err == nil {
		if err = handle.Get(whole, &answer); ctx.Err() != nil {
			l.cancelTest(ctx, handle)
		}
	}
	if err == nil {
		result, err = l.opened(answer)
	}
	if err != nil {
		return result, testError(region, err)
	}
	if result.Unavailable {
		return result, vigil.Errorf(vigil.CodeUnavailable, "checks of type %s cannot run in region %s: %s", check.Type, region, result.Error)
	}
	if dryRun {
		return result, nil
	}
	// The result is stored and counts even if this signal is lost; the loop then
	// reads the row at its next recovery.
	nudging, cancelNudge := context.WithTimeout(ctx, testNudge)
	defer cancelNudge()
	if err := l.signal(nudging, check.ID, region, workflows.SignalNudge, nil); err != nil {
		l.log.WarnContext(ctx, "loop not nudged after a test", "check", check.ID, "region", region, "error", err)
	}
	return result, nil
}

// opened returns the result of an answer, in plaintext.
func (l *Loops) opened(answer activities.TestAnswer) (vigil.Result, error) {
	if len(answer.Sealed) == 0 {
		return answer.Result, nil
	}
	seen, err := l.open(answer.Sealed)
	if err != nil {
		return answer.Result, fmt.Errorf("open the answer of a test: %w", err)
	}
	if err := json.Unmarshal(seen, &answer.Observation); err != nil {
		return answer.Result, fmt.Errorf("read the answer of a test: %w", err)
	}
	return answer.Result, nil
}

// cancelTest ends the test of a caller that has left.
func (l *Loops) cancelTest(ctx context.Context, test client.ActivityHandle) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), testPickup)
	defer cancel()
	if err := test.Cancel(ctx, client.CancelActivityOptions{Reason: "the caller has left"}); err != nil && !isNotFound(err) {
		l.log.WarnContext(ctx, "test not canceled", "activity", test.GetID(), "error", err)
	}
}

// signal signals a loop. One that does not run needs no signal: the sweep starts it when it must run.
func (l *Loops) signal(ctx context.Context, checkID uuid.UUID, region, name string, arg any) error {
	l.use(region)
	err := l.temporal.SignalWorkflow(ctx, vigil.LoopID(checkID, region), "", name, arg)
	if isNotFound(err) {
		return nil
	}
	return wrap(name, err)
}

// start starts a new loop, and signals its revision to one that runs already.
func (l *Loops) start(ctx context.Context, loop vigil.Loop) error {
	l.use(loop.Region)
	options, in := l.startOf(ctx, loop)
	started, err := startNew(ctx, l.temporal, l.eager, options, workflows.CheckLoop, in)
	if started || err != nil {
		return wrap("start", err)
	}
	return l.signalWithStart(ctx, loop, workflows.SignalReconfigure, loop.Desired)
}

// signalWithStart signals a loop, which it starts when it does not run.
func (l *Loops) signalWithStart(ctx context.Context, loop vigil.Loop, name string, arg any) error {
	l.use(loop.Region)
	options, in := l.startOf(ctx, loop)
	_, err := l.temporal.SignalWithStartWorkflow(ctx, options.ID, name, arg, options, workflows.CheckLoop, in)
	return wrap(name, err)
}

// startOf returns how a loop starts, and its input.
func (l *Loops) startOf(ctx context.Context, loop vigil.Loop) (client.StartWorkflowOptions, *workflows.LoopInput) {
	label := summary(loop.Name, loop.Target)
	options := client.StartWorkflowOptions{
		ID:                    vigil.LoopID(loop.CheckID, loop.Region),
		TaskQueue:             vigil.RegionQueue(loop.Region),
		WorkflowTaskTimeout:   taskTimeout,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: l.names.named(ctx, loopAttributes(loop.OrgID, loop.CheckID, loop.Region), loop.Name),
		StaticSummary:         bounded(label),
	}
	in := &workflows.LoopInput{CheckID: loop.CheckID, Region: loop.Region, Revision: loop.Desired, Label: label}
	if l.names.Shown(ctx) {
		in.Name = loop.Name
	}
	return options, in
}

// testError says why a test on demand has no result.
func testError(region string, err error) error {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok &&
		timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START {
		return vigil.Errorf(vigil.CodeUnavailable,
			"no worker of region %s took the test within %s; GET /v1/regions shows which regions are online", region, testPickup)
	}
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok && application.Type() != activities.TypeParked {
		if application.Type() == activities.TypeNoAgent {
			return vigil.Errorf(vigil.CodeUnavailable, "%s", application.Message())
		}
		return fmt.Errorf("test: %w", application)
	}
	failure := vigil.Errorf(vigil.CodeUnavailable, "the test could not be run; try again in a few seconds")
	failure.Cause = err
	return failure
}

func isNotFound(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s loop: %w", what, err)
}
