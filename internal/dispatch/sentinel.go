// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil/workflows"
)

// sentinelDelay is how long the first workflow task of a sentinel is delayed: for good.
// Temporal's limit is 100 years.
const sentinelDelay = 50 * 365 * 24 * time.Hour

// Sentinel is a workflow that shows, by being known, that Temporal still has the store in
// which the platform's workflows run, and by the newest epoch in its history, how old that
// store is. Its first task is delayed for decades, so that it stays open and no worker ever
// runs it. To terminate it does no harm.
type Sentinel struct {
	temporal  client.Client
	namespace string
}

// NewSentinel returns a Sentinel that uses the client, which is one of the namespace.
func NewSentinel(temporal client.Client, namespace string) *Sentinel {
	return &Sentinel{temporal: temporal, namespace: namespace}
}

// Close ends a run of the sentinel of a generation, so that another one takes its place. It is
// not an error when that run has ended.
func (s *Sentinel) Close(ctx context.Context, generation int64, runID string) error {
	err := s.temporal.TerminateWorkflow(ctx, workflows.SentinelID(generation), runID, "its history is long")
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("close the sentinel: %w", err)
	}
	return nil
}

// Start starts the sentinel of a generation. It is not an error when it is open.
func (s *Sentinel) Start(ctx context.Context, generation int64) error {
	_, err := s.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       workflows.SentinelID(generation),
		TaskQueue:                workflows.Sentinel,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StartDelay:               sentinelDelay,
		StaticSummary:            "Shows that Temporal still has Vigil's workflows; leave it open",
	}, workflows.Sentinel)
	if err != nil {
		return fmt.Errorf("start sentinel: %w", err)
	}
	return nil
}

// Away reports whether an error says that Temporal does not answer or is overloaded, and
// not that it refused a request.
func Away(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	for _, is := range []func(error) bool{
		isA[*serviceerror.Unavailable], isA[*serviceerror.DeadlineExceeded], isA[*serviceerror.ResourceExhausted],
		isA[*serviceerror.NamespaceNotFound],
	} {
		if is(err) {
			return true
		}
	}
	return false
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
