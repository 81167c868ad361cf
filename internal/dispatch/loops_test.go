// SPDX-License-Identifier: Apache-2.0

package dispatch_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/codec"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// unreachable is a Temporal that stops answering after some calls. The client
// retries until its context ends.
type unreachable struct {
	client.Client
	accepts, answers bool
}

func (u unreachable) ExecuteActivity(ctx context.Context, _ client.StartActivityOptions, _ any, _ ...any) (client.ActivityHandle, error) {
	if u.accepts {
		return testHandle{answers: u.answers}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (unreachable) SignalWorkflow(ctx context.Context, _, _, _ string, _ any) error {
	<-ctx.Done()
	return ctx.Err()
}

type testHandle struct {
	client.ActivityHandle
	answers bool
}

func (h testHandle) Get(ctx context.Context, _ any) error {
	if h.answers {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// recorder keeps the summary of the activity that it is asked to start, and its options.
type recorder struct {
	client.Client
	summary string
	options client.StartActivityOptions
}

func (r *recorder) ExecuteActivity(_ context.Context, options client.StartActivityOptions, _ any, _ ...any) (client.ActivityHandle, error) {
	r.summary, r.options = options.Summary, options
	return testHandle{answers: true}, nil
}

// TestTestSummaryFitsTheLimit proves that the server accepts the summary of a test for
// any name of the check: its limit counts the bytes of the encoded payload.
func TestTestSummaryFitsTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 400
	keys, err := secret.NewKeyring(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	var options client.Options
	codec.New(keys, true).Configure(&options) // an encrypted payload is longer
	for _, name := range []string{
		"home page", strings.Repeat("a", 200), strings.Repeat("ж", 200), strings.Repeat("監", 200), strings.Repeat("<", 200),
		strings.Repeat("\u2028", 200), strings.Repeat("🙂", 200),
	} {
		temporal := &recorder{}
		loops := dispatch.NewLoops(temporal, nil, slog.New(slog.DiscardHandler))
		if _, err := loops.Test(t.Context(), vigil.Check{ID: uuid.New(), OrgID: uuid.New(), Name: name}, "eu-central-fra", true); err != nil {
			t.Fatal(err)
		}
		payload, err := options.DataConverter.ToPayload(temporal.summary)
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(payload); size > limit || !strings.HasPrefix(name, temporal.summary) || temporal.summary == "" {
			t.Errorf("%q has the summary %q of %d bytes, want at most %d", name, temporal.summary, size, limit)
		}
		if len(name) == 200 && name[0] == 'a' && temporal.summary != name {
			t.Errorf("%q was cut to %q", name, temporal.summary)
		}
	}
}

// TestTestOfADeadWorker tests that Temporal gives up the test of a worker that does not beat any more long
// before the test may take that long, but not for a few lost heartbeats.
func TestTestOfADeadWorker(t *testing.T) {
	t.Parallel()
	temporal := &recorder{}
	loops := dispatch.NewLoops(temporal, nil, slog.New(slog.DiscardHandler))
	if _, err := loops.Test(t.Context(), vigil.Check{ID: uuid.New(), OrgID: uuid.New()}, "eu-central-fra", true); err != nil {
		t.Fatal(err)
	}
	if d := temporal.options.HeartbeatTimeout; d < 10*activities.HeartbeatInterval || d > 30*time.Second {
		t.Errorf("a heartbeat is awaited for %v, with one every %v", d, activities.HeartbeatInterval)
	}
}

func TestTestWhileTemporalIsUnreachable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		temporal unreachable
		within   time.Duration
		code     vigil.Code
	}{
		"FromTheStart":     {unreachable{}, 5 * time.Second, vigil.CodeUnavailable},
		"WhileItRuns":      {unreachable{accepts: true}, 6 * time.Minute, vigil.CodeUnavailable},
		"OnceItHasAResult": {unreachable{accepts: true, answers: true}, 2 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loops := dispatch.NewLoops(test.temporal, nil, slog.New(slog.DiscardHandler))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // longer than any caller waits
				defer cancel()
				began := time.Now()
				_, err := loops.Test(ctx, vigil.Check{ID: uuid.New(), OrgID: uuid.New()}, "eu-central-fra", false)
				if took := time.Since(began); took > test.within {
					t.Errorf("answered after %v, want %v at most", took, test.within)
				}
				if vigil.ErrorCode(err) != test.code {
					t.Errorf("%v, want code %q", err, test.code)
				}
			})
		})
	}
}

// described is a Temporal with one answer about every workflow.
type described struct {
	client.Client
	answer *workflowservice.DescribeWorkflowExecutionResponse
	err    error
}

func (d described) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return d.answer, d.err
}

func TestHolder(t *testing.T) {
	t.Parallel()
	with := func(status enumspb.WorkflowExecutionStatus, pending ...*workflowpb.PendingActivityInfo) described {
		return described{answer: &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}, PendingActivities: pending,
		}}
	}
	paused := &workflowpb.PendingActivityInfo{ActivityId: "7", ActivityType: &commonpb.ActivityType{Name: "ReportVote"}, Paused: true}
	running := &workflowpb.PendingActivityInfo{
		ActivityId: "8", ActivityType: &commonpb.ActivityType{Name: "Watch"},
		State: enumspb.PENDING_ACTIVITY_STATE_STARTED, LastWorkerIdentity: "w",
	}
	queued := &workflowpb.PendingActivityInfo{
		ActivityId: "8", ActivityType: &commonpb.ActivityType{Name: "Watch"},
		State: enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, LastWorkerIdentity: "old",
	}
	for name, test := range map[string]struct {
		temporal described
		lost     bool
		log      string // "" for nothing
		worker   string // that has the turn
	}{
		"NeverStarted": {described{err: serviceerror.NewNotFound("no")}, true, "", ""},
		"Terminated":   {with(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED), true, "", ""},
		"Canceled":     {with(enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED), true, "", ""},
		"Running":      {with(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, running), false, "", "w"},
		"PausedActivity": {
			with(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, running, paused), false, "activity unpause --workflow-id check/", "w",
		},
		"PausedWorkflow":  {with(enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED), false, "workflow unpause --workflow-id check/", ""},
		"TemporalIsAway":  {described{err: serviceerror.NewUnavailable("no")}, false, "", ""},
		"NoSuchNamespace": {described{err: serviceerror.NewNamespaceNotFound("vigil")}, false, "", ""},
		"TurnInTheQueue":  {with(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, queued), false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines strings.Builder
			loops := dispatch.NewLoops(test.temporal, nil, slog.New(slog.NewTextHandler(&lines, nil)))
			holder, err := loops.Holder(t.Context(), vigil.Loop{CheckID: uuid.New(), Region: "eu-central-fra"})
			if fails := test.temporal.err != nil && !test.lost; holder.Running != (!test.lost && !fails) || (err != nil) != fails {
				t.Errorf("%+v, %v; want a running workflow: %v", holder, err, !test.lost)
			}
			if holder.Worker != test.worker {
				t.Errorf("%q has the turn, want %q", holder.Worker, test.worker)
			}
			if !strings.Contains(lines.String(), test.log) || test.log == "" && lines.Len() > 0 {
				t.Errorf("logged %q, want %q", lines.String(), test.log)
			}
		})
	}
}
