// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// Turns completes turns that run apart from their activity, or whose worker is gone.
type Turns struct {
	temporal  client.Client
	namespace string
}

// NewTurns returns Turns of the loops in a namespace.
func NewTurns(temporal client.Client, namespace string) *Turns {
	return &Turns{temporal: temporal, namespace: namespace}
}

// CompleteTurn gives the workflow of a loop the result of its turn, or the error with which
// the turn failed. It fails with CodeNotFound when the workflow does not wait for this turn.
func (t *Turns) CompleteTurn(ctx context.Context, turn vigil.OpenTurn, result *activities.TurnResult, failure error) error {
	var value any // nil without a result: a nil pointer would be a payload
	if result != nil {
		value = result
	}
	err := t.temporal.CompleteActivityByID(
		ctx, t.namespace, vigil.LoopID(turn.CheckID, turn.Region), turn.RunID.String(), turn.ActivityID, value, failure,
	)
	if isNotFound(err) {
		return vigil.NotFound("turn")
	}
	return wrap("complete a turn of the", err)
}

// CurrentBuild returns the Worker Deployment Version that gets the work of a region's loops, as
// the server names it, and empty when unversioned workers do. A share of the work that a ramp
// gives to another version does not count.
func (t *Turns) CurrentBuild(ctx context.Context, region string) (string, error) {
	described, err := t.temporal.DescribeTaskQueue(ctx, vigil.RegionQueue(region), enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return "", wrap("describe the task queue of a", err)
	}
	current := described.GetVersioningInfo().GetCurrentDeploymentVersion()
	if current == nil {
		return "", nil
	}
	return current.GetDeploymentName() + "." + current.GetBuildId(), nil
}

// RepeatTurn makes a loop begin another turn. It is no error when no workflow runs.
func (t *Turns) RepeatTurn(ctx context.Context, turn vigil.OpenTurn) error {
	err := t.temporal.SignalWorkflow(ctx, vigil.LoopID(turn.CheckID, turn.Region), "", workflows.SignalNudge, nil)
	if isNotFound(err) {
		return nil
	}
	return wrap("nudge", err)
}
