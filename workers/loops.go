package workers

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

	"vigil"
	"vigil/activities"
	"vigil/workflows"
)

// The search attributes of Vigil's workflows, all keywords and set at start.
const (
	AttributeOrg    = "VigilOrg"
	AttributeCheck  = "VigilCheck"
	AttributeRegion = "VigilRegion"
)

// SearchAttributes are the names that a namespace needs, all of type Keyword.
func SearchAttributes() []string {
	return []string{
		AttributeOrg, AttributeCheck, AttributeRegion,
		AttributeIncident, AttributeChannel, AttributeDelivery,
	}
}

// A test on demand waits pickupWait for a worker and may take trialTime in all;
// its answer waits tellWait for the loop to be told.
const (
	pickupWait = 5 * time.Second
	trialTime  = 5 * time.Minute
	tellWait   = 2 * time.Second
)

// taskTimeout is after how long a workflow task that died with its worker goes
// to another. Until then the server holds the nudges back.
const taskTimeout = 5 * time.Second

// desired is where the applied revision of a loop is kept.
type desired interface {
	MarkApplied(ctx context.Context, checkID uuid.UUID, region string, revision int64) error
}

// Loops starts, signals and queries the workflows of checks. Every call may be
// repeated: the workflow's id says which loop is meant, and revisions say what
// is news.
type Loops struct {
	temporal client.Client
	store    desired
	log      *slog.Logger
}

// NewLoops returns Loops that reach workflows through the client.
func NewLoops(temporal client.Client, store desired, log *slog.Logger) *Loops {
	return &Loops{temporal: temporal, store: store, log: log}
}

// Apply makes Temporal follow the stored side of a loop: an active one is
// started, or told of its revision when it runs; an inactive one is told, and
// ends. The applied revision is kept once the server has accepted.
func (l *Loops) Apply(ctx context.Context, loop vigil.Loop) error {
	var err error
	if loop.Active {
		err = l.signalWithStart(ctx, loop, workflows.SignalReconfigure, loop.Desired)
	} else {
		err = l.signal(ctx, loop.CheckID, loop.Region, workflows.SignalReconfigure, loop.Desired)
	}
	if err != nil {
		return err
	}
	return l.store.MarkApplied(ctx, loop.CheckID, loop.Region, loop.Desired)
}

// Nudge makes a loop give its turn up and start another, from the stored rows.
// A loop that does not run is started.
func (l *Loops) Nudge(ctx context.Context, loop vigil.Loop) error {
	return l.signalWithStart(ctx, loop, workflows.SignalNudge, nil)
}

// Stop ends the loop of a region that left its check at a revision; one that runs
// at a newer revision goes on. Revision zero ends every loop: the check is gone.
// It is no error when none runs.
func (l *Loops) Stop(ctx context.Context, checkID uuid.UUID, region string, revision int64) error {
	return l.signal(ctx, checkID, region, workflows.SignalStop, revision)
}

// Terminate ends a loop that did not stop, such as one whose region has no
// worker. It ends whichever loop has the name: the caller sees to it that none is
// asked for meanwhile. It is no error when none runs.
func (l *Loops) Terminate(ctx context.Context, checkID uuid.UUID, region string) error {
	err := l.temporal.TerminateWorkflow(ctx, vigil.LoopID(checkID, region), "", "the check no longer runs here")
	if isNotFound(err) {
		return nil
	}
	return wrap("terminate", err)
}

// Running reports whether a loop that was told to stop still runs, by telling
// it once more.
func (l *Loops) Running(ctx context.Context, stone vigil.Tombstone) (bool, error) {
	err := l.temporal.SignalWorkflow(ctx, vigil.LoopID(stone.CheckID, stone.Region), "", workflows.SignalStop, stone.Revision)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, wrap("stop", err)
}

// State asks a running loop where it stands. It fails when none runs, or when
// no worker of its region answers within ctx.
func (l *Loops) State(ctx context.Context, checkID uuid.UUID, region string) (vigil.LoopState, error) {
	var state vigil.LoopState
	value, err := l.temporal.QueryWorkflow(ctx, vigil.LoopID(checkID, region), "", workflows.QueryState)
	if err != nil {
		return state, wrap("query", err)
	}
	return state, wrap("query", value.Get(&state))
}

// Test probes a check once, now, on a worker of the region, and tells the loop
// of a result that was stored. It fails with CodeUnavailable when no worker
// takes it within five seconds.
func (l *Loops) Test(ctx context.Context, check vigil.Check, region string, dryRun bool) (vigil.Result, error) {
	var result vigil.Result
	var watcher *activities.Watcher
	// A Temporal that went away is asked again and again for as long as it may.
	whole, cancel := context.WithTimeout(ctx, trialTime+pickupWait)
	defer cancel()
	starting, started := context.WithTimeout(ctx, pickupWait)
	defer started()
	handle, err := l.temporal.ExecuteActivity(starting, client.StartActivityOptions{
		ID:                     "test/" + check.ID.String() + "/" + region + "/" + uuid.NewString(),
		TaskQueue:              vigil.RegionQueue(region),
		ScheduleToStartTimeout: pickupWait,
		ScheduleToCloseTimeout: trialTime,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                bounded(check.Name),
		TypedSearchAttributes:  attributes(check.OrgID, check.ID, region),
	}, watcher.Test, activities.TestRequest{CheckID: check.ID, Region: region, Revision: check.Revision, DryRun: dryRun})
	if err == nil {
		err = handle.Get(whole, &result)
	}
	if err != nil {
		return result, trialError(region, err)
	}
	if result.Unavailable {
		return result, vigil.Errorf(vigil.CodeUnavailable, "checks of type %s cannot run in region %s: %s", check.Type, region, result.Error)
	}
	if dryRun {
		return result, nil
	}
	// The result is stored and counts whatever becomes of this signal; a loop
	// that misses it learns of the row when it next recovers.
	telling, told := context.WithTimeout(ctx, tellWait)
	defer told()
	if err := l.signal(telling, check.ID, region, workflows.SignalNudge, nil); err != nil {
		l.log.WarnContext(ctx, "loop not told of a test's result", "check", check.ID, "region", region, "error", err)
	}
	return result, nil
}

func (l *Loops) signal(ctx context.Context, checkID uuid.UUID, region, name string, arg any) error {
	err := l.temporal.SignalWorkflow(ctx, vigil.LoopID(checkID, region), "", name, arg)
	if isNotFound(err) {
		return nil
	}
	return wrap(name, err)
}

func (l *Loops) signalWithStart(ctx context.Context, loop vigil.Loop, name string, arg any) error {
	options := client.StartWorkflowOptions{
		TaskQueue:             vigil.RegionQueue(loop.Region),
		WorkflowTaskTimeout:   taskTimeout,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: attributes(loop.OrgID, loop.CheckID, loop.Region),
		StaticSummary:         bounded(summary(loop)),
	}
	_, err := l.temporal.SignalWithStartWorkflow(ctx, vigil.LoopID(loop.CheckID, loop.Region), name, arg, options,
		workflows.CheckLoop, &workflows.LoopInput{CheckID: loop.CheckID, Region: loop.Region, Revision: loop.Desired, Label: summary(loop)})
	return wrap(name, err)
}

func attributes(org, check uuid.UUID, region string) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(
		temporal.NewSearchAttributeKeyKeyword(AttributeOrg).ValueSet(org.String()),
		temporal.NewSearchAttributeKeyKeyword(AttributeCheck).ValueSet(check.String()),
		temporal.NewSearchAttributeKeyKeyword(AttributeRegion).ValueSet(region),
	)
}

// summaryLimit is what two names share in a summary, and encodedLimit what a
// summary may take as JSON: the server refuses a standalone activity whose
// payload, with some 30 bytes around the text, has more than 400.
const (
	summaryLimit = 300
	encodedLimit = 360
)

// bounded cuts a text to what the server takes as a summary: escaped, as < is, a
// character has up to six bytes.
func bounded(text string) string {
	left := encodedLimit
	for i, r := range text {
		encoded, err := json.Marshal(string(r))
		if left -= len(encoded) - len(`""`); err != nil || left < 0 {
			return text[:i]
		}
	}
	return text
}

// summary names a loop for people who look at the Temporal UI.
func summary(loop vigil.Loop) string { return named(loop.Name, loop.Target) }

// named is a check's name with its target behind it.
func named(name, target string) string {
	if target == "" || len(target) > summaryLimit/2 {
		return shortened(name)
	}
	return shortened(name) + " (" + target + ")"
}

// shortened keeps a name within its share of a summary.
func shortened(name string) string {
	if len(name) <= summaryLimit/2 {
		return name
	}
	runes := []rune(name)
	return string(runes[:min(len(runes), summaryLimit/8)])
}

// trialError says why a test on demand has no result.
func trialError(region string, err error) error {
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok &&
		timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START {
		return vigil.Errorf(vigil.CodeUnavailable,
			"no worker of region %s took the test within %s; GET /v1/regions shows which regions are online", region, pickupWait)
	}
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
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
