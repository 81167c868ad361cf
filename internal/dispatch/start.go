// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// startNew starts a workflow that most likely does not run yet, and reports whether it has:
// with a workflow of that ID running it does nothing.
//
// With eager, a worker of this client that polls the task queue and has a slot gets the first
// workflow task with the answer. That spares a state transition and the way through the task
// queue, behind the tasks that wait there. A signal with a start cannot do that.
func startNew(
	ctx context.Context,
	temporal client.Client,
	eager bool,
	options client.StartWorkflowOptions,
	workflow, in any,
) (bool, error) {
	options.EnableEagerStart = eager
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err := temporal.ExecuteWorkflow(ctx, options, workflow, in)
	if _, runs := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); runs {
		return false, nil
	}
	return err == nil, err
}
