// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/activities"
)

const (
	// recoverTimeout bounds one activity of a recovery, which works for half a minute.
	recoverTimeout = 2 * time.Minute
	// recoverHeartbeat is how long an activity may be silent, after which its worker counts as dead.
	recoverHeartbeat = 20 * time.Second
	// maxParts bounds a history before it is continued as new.
	maxParts = 200
)

// RecoveryInput names a recovery.
type RecoveryInput struct {
	RecoveryID uuid.UUID `json:"recovery_id"`
}

// Recovery sends again what a channel did not get. Where it is, and whether it was canceled, is in
// Postgres: each activity works on it for a while, and goes on where the last one stopped.
func Recovery(ctx workflow.Context, in RecoveryInput) error {
	var acts *activities.Recoveries
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: recoverTimeout,
		HeartbeatTimeout:    recoverHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: minPause, BackoffCoefficient: 2, MaximumInterval: failurePause},
	})
	for n := 1; ; n++ {
		var report activities.RecoveryReport
		if err := workflow.ExecuteActivity(ctx, acts.Recover, in.RecoveryID).Get(ctx, &report); err != nil {
			return err
		}
		workflow.SetCurrentDetails(
			ctx,
			fmt.Sprintf("%d of %d sent, %d skipped, %d failed", report.Sent, report.Total, report.Skipped, report.Failed),
		)
		if report.Done {
			return nil
		}
		if n >= maxParts || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return workflow.NewContinueAsNewError(ctx, Recovery, in)
		}
	}
}
