// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// testEnv is the SDK's test environment, which skips time, with a record of the
// activities that the workflow schedules and of what it logs.
type testEnv struct {
	*testsuite.TestWorkflowEnvironment
	calls []scheduled
	logs  syncBuffer
	// refusal, when set, is what the SDK answers a workflow that sets a handler
	// or a search attribute.
	refusal error
}

// scheduled is one activity that a workflow scheduled.
type scheduled struct {
	name    string
	options workflow.ActivityOptions
}

// envStart is when a workflow starts in a testEnv.
var envStart = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot spell as one

// firstRunID is the id of the first run of a chain: the SDK's test environment has none.
const firstRunID = ""

func newTestEnv() *testEnv {
	e := &testEnv{}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.NewTextHandler(&e.logs, nil))))
	e.TestWorkflowEnvironment = suite.NewTestWorkflowEnvironment()
	e.SetStartTime(envStart)
	// A busy machine must not look like a workflow that hangs.
	e.SetTestTimeout(time.Minute)
	e.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: time.Minute,
		Interceptors:             []interceptor.WorkerInterceptor{&activityRecorder{env: e}},
	})
	return e
}

// named returns the options of every activity of that name, in order.
func (e *testEnv) named(name string) []workflow.ActivityOptions {
	var out []workflow.ActivityOptions
	for _, call := range e.calls {
		if call.name == name {
			out = append(out, call.options)
		}
	}
	return out
}

// details is what operators see of the workflow now.
func (e *testEnv) details() (string, error) {
	value, err := e.QueryWorkflow("__temporal_workflow_metadata")
	if err != nil {
		return "", err
	}
	var meta sdk.WorkflowMetadata
	err = value.Get(&meta)
	return meta.GetCurrentDetails(), err
}

// keywords collects what the workflow sets a search attribute to.
func (e *testEnv) keywords(attribute string) *[]string {
	set := new([]string)
	e.OnUpsertTypedSearchAttributes(mock.MatchedBy(func(values temporal.SearchAttributes) bool {
		value, ok := values.GetKeyword(temporal.NewSearchAttributeKeyKeyword(attribute))
		*set = append(*set, value)
		return ok
	})).Return(nil)
	return set
}

// continued decodes the input of the run that follows, and fails the test unless
// the workflow continued as new under the given workflow type.
func continued[In any](t *testing.T, err error, workflowType string) In {
	t.Helper()
	var in In
	next, ok := errors.AsType[*workflow.ContinueAsNewError](err)
	if !ok {
		t.Fatalf("ended with %v, want to continue as new", err)
	}
	if next.WorkflowType.Name != workflowType {
		t.Errorf("continues as %s, want %s", next.WorkflowType.Name, workflowType)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// seconds is a duration without what the machine added to it.
func seconds(d time.Duration) time.Duration { return d.Round(time.Second) }

// activityRecorder records the activities that a workflow schedules.
type activityRecorder struct {
	interceptor.WorkerInterceptorBase
	env *testEnv
}

func (r *activityRecorder) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	in := &inboundRecorder{env: r.env}
	in.Next = next
	return in
}

type inboundRecorder struct {
	interceptor.WorkflowInboundInterceptorBase
	env *testEnv
}

func (r *inboundRecorder) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	out := &outboundRecorder{env: r.env}
	out.Next = outbound
	return r.Next.Init(out)
}

type outboundRecorder struct {
	interceptor.WorkflowOutboundInterceptorBase
	env *testEnv
}

func (r *outboundRecorder) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	r.env.calls = append(r.env.calls, scheduled{name, workflow.GetActivityOptions(ctx)})
	return r.Next.ExecuteActivity(ctx, name, args...)
}

func (r *outboundRecorder) SetQueryHandler(ctx workflow.Context, name string, handler any) error {
	return cmp.Or(r.env.refusal, r.Next.SetQueryHandler(ctx, name, handler))
}

func (r *outboundRecorder) SetUpdateHandler(ctx workflow.Context, name string, handler any, opts workflow.UpdateHandlerOptions) error {
	return cmp.Or(r.env.refusal, r.Next.SetUpdateHandler(ctx, name, handler, opts))
}

func (r *outboundRecorder) UpsertTypedSearchAttributes(ctx workflow.Context, attributes ...temporal.SearchAttributeUpdate) error {
	return cmp.Or(r.env.refusal, r.Next.UpsertTypedSearchAttributes(ctx, attributes...))
}

// syncBuffer is a buffer for several writers at once.
type syncBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

// contains reports whether a text has all of the others in it.
func contains(text string, all ...string) bool {
	return !slices.ContainsFunc(all, func(part string) bool { return !strings.Contains(text, part) })
}

// warnings are the lines of level WARN.
func (b *syncBuffer) warnings() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	lines := strings.Split(b.text.String(), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, "level=WARN") })
}
