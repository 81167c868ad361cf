// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// taskPoll is the time between two looks for the answer of an agent.
const taskPoll = 100 * time.Millisecond

// observeAfar has an agent of a region probe for a test by hand. Without an agent that takes it, within
// agentlink.TaskWithin, it is an error of type TypeNoAgent.
func (w *Watcher) observeAfar(ctx context.Context, e *entry, request TestRequest) (vigil.Result, error) {
	now := w.Now().Truncate(time.Microsecond)
	result := testResult(request, now)
	longest := e.deadline()
	if request.DryRun {
		longest = e.single()
	}
	wanted := location.Wanted{
		ID: uuid.New(), OrgID: e.Check.OrgID, CheckID: request.CheckID, Region: request.Region, Revision: e.Check.Revision,
		Once: request.DryRun, Within: agentlink.TaskWithin + longest + agentlink.AgentTimeout,
	}
	if err := w.Inbox.store.AddTask(ctx, wanted); err != nil {
		return result, fmt.Errorf("ask an agent: %w", err)
	}
	defer func() { _ = w.Inbox.store.EndTask(context.WithoutCancel(ctx), wanted.ID) }() // else no agent takes it after its deadline
	for {
		if err := timing.Sleep(ctx, taskPoll); err != nil {
			return result, err
		}
		taken, answer, err := w.Inbox.store.TaskState(ctx, wanted.ID)
		waited := w.Now().Sub(now)
		switch {
		case err != nil:
			return result, fmt.Errorf("ask an agent: %w", err)
		case answer != nil:
			result.Time, result.Observation = answer.Time, answer.Observation
			return result, nil
		case !taken && waited > agentlink.TaskWithin:
			return result, noAgent(
				"No agent of %s took the test within %s; its location shows which are connected.",
				request.Region,
				agentlink.TaskWithin,
			)
		case waited > wanted.Within:
			return result, noAgent("The agent of %s that took the test has not answered.", request.Region)
		}
	}
}

func noAgent(format string, args ...any) error {
	return temporal.NewNonRetryableApplicationError(fmt.Sprintf(format, args...), TypeNoAgent, nil)
}
