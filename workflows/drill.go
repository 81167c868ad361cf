// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/drills"
)

const (
	// drillTimeout bounds an activity of a drill; following waits for 20 s within it.
	drillTimeout = 40 * time.Second
	// drillPause is the longest pause before one that failed is repeated.
	drillPause = 5 * time.Second
)

// DrillQueue is the task queue on which drills are followed. It is one of their own, since following one
// waits for as long as it runs: many drills must not keep incidents waiting.
const DrillQueue = "drill"

// DrillInput names a drill.
type DrillInput struct {
	DrillID uuid.UUID `json:"drill_id"`
}

// Drill leads a drill: its check is created and fails; once the messages about that have arrived,
// or their time is over, it is made healthy; and once those about the end have, the receipt is
// made. What happened is read from Postgres, and so is when the time is over, so the workflow may
// be started again at any point, and ends at once when the drill has.
func Drill(ctx workflow.Context, in DrillInput) error {
	var acts *activities.Drills
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: drillTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: drillPause},
	})
	following := workflow.WithTaskQueue(ctx, DrillQueue)
	var report activities.DrillReport
	if err := workflow.ExecuteActivity(ctx, acts.StageDrill, in.DrillID).Get(ctx, &report); err != nil {
		return err
	}
	for report.Step != drills.Close {
		if report.Step == drills.Heal {
			if err := workflow.ExecuteActivity(ctx, acts.HealDrill, in.DrillID).Get(ctx, nil); err != nil {
				return err
			}
		}
		if err := workflow.ExecuteActivity(following, acts.FollowDrill, in.DrillID).Get(ctx, &report); err != nil {
			return err
		}
	}
	return workflow.ExecuteActivity(ctx, acts.CloseDrill, in.DrillID).Get(ctx, nil)
}
