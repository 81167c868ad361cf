// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"strings"

	"github.com/google/uuid"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// freshState answers the state query of a loop with what its running turn knows, where this process has it: the workflow
// learns of that when the turn ends, which may take hours. A query changes nothing, so it may look beside the history.
type freshState struct {
	interceptor.WorkerInterceptorBase

	watcher *activities.Watcher
}

// InterceptWorkflow wraps the queries of a workflow.
func (f *freshState) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	return &freshQueries{interceptor.WorkflowInboundInterceptorBase{Next: next}, f.watcher}
}

type freshQueries struct {
	interceptor.WorkflowInboundInterceptorBase

	watcher *activities.Watcher
}

// HandleQuery answers a query.
func (q *freshQueries) HandleQuery(ctx workflow.Context, in *interceptor.HandleQueryInput) (any, error) {
	answer, err := q.Next.HandleQuery(ctx, in)
	state, ok := answer.(vigil.LoopState)
	if err != nil || !ok || in.QueryType != workflows.QueryState {
		return answer, err
	}
	check, region, ok := loopOf(workflow.GetInfo(ctx).WorkflowExecution.ID)
	if !ok {
		return answer, nil
	}
	if progress := q.watcher.Progress(check, region); progress != nil && progress.State.Slot.After(state.Slot) {
		state.State, state.Next = progress.State, progress.Next
		if progress.Span > state.TurnSlots {
			state.TurnSlots, state.TurnReason = progress.Span, vigil.TurnBudget
		}
	}
	return state, nil
}

// loopOf is the opposite of vigil.LoopID.
func loopOf(id string) (check uuid.UUID, region string, ok bool) {
	text, region, found := strings.Cut(strings.TrimPrefix(id, "check/"), "/")
	check, err := uuid.Parse(text)
	return check, region, found && err == nil && vigil.LoopID(check, region) == id
}
