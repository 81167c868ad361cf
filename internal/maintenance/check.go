// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	"github.com/google/uuid"
)

// Current is the maintenance that a check is in.
type Current struct {
	WindowID uuid.UUID // of the occurrence that ends last
	Name     string
	Until    time.Time
	// Probing is ProbingPause when one of the windows that cover the check pauses it.
	Probing Probing
}

// Hold is a check whose incident workflow knows that it is in maintenance.
type Hold struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	HeldAt  time.Time // when the workflow last read it
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
	// Firing: a rule fires in a region, so that the workflow must run.
	Firing bool
}
