// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
)

// LoopWorkflows starts and signals check loops. Apply and Stop are attempts: the
// sweep repairs what they miss, so their errors are only logged.
type LoopWorkflows interface {
	// Apply starts the loop of a row, or signals its change.
	Apply(ctx context.Context, loop vigil.Loop) error
	// Stop ends the loop of a region that left its check at the revision, or,
	// with zero, of a check that is gone.
	Stop(ctx context.Context, checkID uuid.UUID, region string, revision int64) error
	// State queries the running loop.
	State(ctx context.Context, checkID uuid.UUID, region string) (vigil.LoopState, error)
	// Test runs a check once, now; vigil.CodeUnavailable when no worker polls
	// the region.
	Test(ctx context.Context, check vigil.Check, region string, dryRun bool) (vigil.Result, error)
}

// IncidentWorkflows updates the workflows of incidents and deliveries. Every method that takes orgID answers vigil.NotFound for
// what belongs to another organization.
type IncidentWorkflows interface {
	// Acknowledge and Resolve return the incident as it is then. CodeConflict:
	// its state does not allow it. CodeUnavailable: the workflow does not answer in time.
	Acknowledge(ctx context.Context, action vigil.UserAction) (vigil.Incident, error)
	Resolve(ctx context.Context, action vigil.UserAction) (vigil.Incident, error)
	// Redeliver requests one more attempt; CodeConflict when its channel is
	// disabled or deleted.
	Redeliver(ctx context.Context, orgID, deliveryID uuid.UUID) error
	// Refresh has the incident of a check evaluated again, after something that it
	// depends on changed. It is an attempt, as those of loops are.
	Refresh(ctx context.Context, checkID uuid.UUID) error
	// Recover starts the workflow of a recovery, unless it runs. It is an attempt as well.
	Recover(ctx context.Context, recovery channelhealth.Recovery) error
	// StartDrill starts the workflow of a drill. It is an attempt as well.
	StartDrill(ctx context.Context, orgID, id uuid.UUID) error
	// Send starts the workflow of a delivery, or wakes it. It is an attempt as well.
	Send(ctx context.Context, delivery vigil.PendingDelivery) error
}
