// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// recoverTime is for how long one activity works on a recovery.
	recoverTime = 30 * time.Second
	// recoverPause is the longest pause between two steps, and leastRecoverPause the shortest.
	recoverPause      = 250 * time.Millisecond
	leastRecoverPause = 20 * time.Millisecond
	// minOutstanding and maxOutstanding are how many requested attempts of a recovery may be without an
	// outcome. They take places of the channel, which has eight: a request without a place would be
	// attempted twice, and would stand before the messages of new incidents.
	minOutstanding, maxOutstanding = 4, 6
)

// recoveryStore keeps recoveries.
type recoveryStore interface {
	// StepRecovery settles what was requested and requests at most limit attempts; CodeNotFound.
	StepRecovery(ctx context.Context, id uuid.UUID, limit, outstanding int) (channelhealth.RecoveryStep, error)
}

// RecoveriesOptions are the dependencies of Recoveries. All members are required.
type RecoveriesOptions struct {
	Store recoveryStore
	// Workflows signals the deliveries that have an attempt to make.
	Workflows deliveryStarter
	// Rate is how many messages a second a recovery sends at most.
	Rate int
	Now  func() time.Time
	Log  *slog.Logger
}

// Recoveries has the activity of the recovery workflow.
type Recoveries struct{ RecoveriesOptions }

// NewRecoveries returns Recoveries.
func NewRecoveries(opts RecoveriesOptions) *Recoveries { return &Recoveries{opts} }

// RecoveryReport is the state of a recovery after a part of it.
type RecoveryReport struct {
	// Done: the recovery has ended.
	Done    bool `json:"done,omitempty"`
	Total   int  `json:"total"`
	Sent    int  `json:"sent"`
	Skipped int  `json:"skipped"`
	Failed  int  `json:"failed"`
}

// Recover works on a recovery for some time, at its rate: it has the deliveries attempted, and
// records what became of them. It may be cut short and repeated.
func (r *Recoveries) Recover(ctx context.Context, recoveryID uuid.UUID) (RecoveryReport, error) {
	stopping := activity.GetWorkerStopChannel(ctx)
	pause := min(recoverPause, max(leastRecoverPause, time.Duration(maxOutstanding*float64(time.Second)/float64(r.Rate))))
	each := float64(r.Rate) * pause.Seconds()
	outstanding := min(max(minOutstanding, int(2*each)), maxOutstanding)
	began, allowed, wait := r.Now(), each, pause
	for {
		step, err := r.Store.StepRecovery(ctx, recoveryID, int(allowed), outstanding)
		if vigil.ErrorCode(err) == vigil.CodeNotFound {
			return RecoveryReport{Done: true}, nil // deleted with its channel
		}
		if err != nil {
			return RecoveryReport{}, fmt.Errorf("continue a recovery: %w", err)
		}
		if len(step.Requested) > 0 {
			wait = pause
		} else {
			wait = min(2*wait, recoverPause) // a slow receiver is not asked about all the time
		}
		allowed = min(allowed-float64(len(step.Requested))+float64(r.Rate)*wait.Seconds(), max(1, 2*each))
		sendAll(ctx, r.Workflows, r.Log, step.Requested)
		activity.RecordHeartbeat(ctx)
		report := RecoveryReport{Done: step.Done, Total: step.Total, Sent: step.Sent, Skipped: step.Skipped, Failed: step.Failed}
		if step.Done || r.Now().Sub(began) >= recoverTime {
			return report, nil
		}
		select {
		case <-stopping:
			return report, nil
		default:
		}
		if err := timing.Sleep(ctx, wait); err != nil {
			return report, err
		}
	}
}
