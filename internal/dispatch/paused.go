// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"log/slog"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/vigil-monitor/vigil"
)

// watchActivity is the type of the activity that is a turn.
const watchActivity = "Watch"

// Holder says whether the workflow of a loop runs, and which worker has its turn. What an
// operator has paused is logged with what makes it go on.
func (l *Loops) Holder(ctx context.Context, loop vigil.Loop) (vigil.TurnHolder, error) {
	id := vigil.LoopID(loop.CheckID, loop.Region)
	described, err := l.temporal.DescribeWorkflowExecution(ctx, id, "")
	if isNotFound(err) {
		return vigil.TurnHolder{}, nil
	}
	if err != nil {
		return vigil.TurnHolder{}, wrap("describe", err)
	}
	switch described.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		logPaused(ctx, l.log, id, described)
	default:
		return vigil.TurnHolder{}, nil
	}
	holder := vigil.TurnHolder{Running: true}
	for _, pending := range described.GetPendingActivities() {
		if pending.GetActivityType().GetName() == watchActivity && pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
			holder.Worker, holder.ActivityID = pending.GetLastWorkerIdentity(), pending.GetActivityId()
			holder.RunID, _ = uuid.Parse(described.GetWorkflowExecutionInfo().GetExecution().GetRunId()) // zero when it is none
		}
	}
	return holder, nil
}

// WarnPaused logs what an operator has paused of the workflow of an incident or of
// deliveries, by its ID. A workflow that does not run has nothing that is paused.
func (i *Incidents) WarnPaused(ctx context.Context, id string) error {
	described, err := i.temporal.DescribeWorkflowExecution(ctx, id, "")
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return wrapIncident("describe", err)
	}
	logPaused(ctx, i.log, id, described)
	return nil
}

// logPaused logs that an operator has paused a workflow or an activity of it: nothing else
// says why it does not go on, and only an operator can unpause it.
func logPaused(ctx context.Context, log *slog.Logger, id string, described *workflowservice.DescribeWorkflowExecutionResponse) {
	if described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED {
		log.WarnContext(ctx, "a workflow is paused in Temporal", "workflow", id, "remedy", "temporal workflow unpause --workflow-id "+id)
	}
	for _, activity := range described.GetPendingActivities() {
		if activity.GetPaused() {
			log.WarnContext(ctx, "an activity is paused in Temporal", "workflow", id, "activity", activity.GetActivityType().GetName(),
				"remedy", "temporal activity unpause --workflow-id "+id+" --activity-id "+activity.GetActivityId())
		}
	}
}
