// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"time"

	"github.com/google/uuid"
)

// CheckMaintenance is the maintenance that a check is in.
type CheckMaintenance struct {
	WindowID uuid.UUID // of the occurrence that ends last
	Name     string
	Until    time.Time
	// Probing is ProbingPause when one of the windows that cover the check pauses it.
	Probing MaintenanceProbing
}

// MaintenanceHold is a check whose incident workflow knows that it is in maintenance.
type MaintenanceHold struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	HeldAt  time.Time // when the workflow last read it
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
	// Firing: a rule fires in a region, so that the workflow must run.
	Firing bool
}
