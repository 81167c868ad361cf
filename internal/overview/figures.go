// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// CheckFigures are what monitoring systems read of a check.
type CheckFigures struct {
	ID      uuid.UUID
	OrgID   uuid.UUID
	Name    string
	Type    vigil.CheckType
	Enabled bool
	// IncidentOpen is true while an incident of the check is active or acknowledged.
	IncidentOpen bool
	// InMaintenance is true while a maintenance window covers the check.
	InMaintenance bool
	// Labels are the values of the labels that the reader chose, in their order; empty for
	// a label that the check does not have.
	Labels []string
	// Regions are those in which the check runs, by name; none for a disabled check.
	Regions []RegionFigures
}

// RegionFigures are the figures of the newest result of a check in a region.
type RegionFigures struct {
	Region string
	Health vigil.Health // Unknown without a result
	// Time is when the newest result was made; zero without one.
	Time time.Time
	// Response is the response time of the newest result; negative when it is not stored any
	// more.
	Response time.Duration
	// SSLDays are the days that the certificate has left; nil when the result does not say.
	SSLDays *float64
}
