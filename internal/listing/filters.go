// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// RuleFilter selects alert rules. Zero members select all.
type RuleFilter struct {
	CheckID   uuid.UUID
	ChannelID uuid.UUID // that the rule notifies
	Query     string    // a part of the name, in any case
	Enabled   *bool
	Labels    []vigil.LabelSelector
	Managed   ManagedFilter
	Page
}

// ChannelFilter selects channels. Zero members select all.
type ChannelFilter struct {
	Query   string // a part of the name, in any case
	Type    vigil.ChannelType
	Enabled *bool
	Labels  []vigil.LabelSelector
	Managed ManagedFilter
	Page
}

// LocationFilter selects locations. Zero members select all.
type LocationFilter struct {
	Query  string // a part of the name or the key, in any case
	Labels []vigil.LabelSelector
	Page
}

// DeliveryFilter selects deliveries. Zero members do not bind.
type DeliveryFilter struct {
	IncidentID   uuid.UUID
	UnobservedID uuid.UUID // of the time without results; see UnobservedCheck
	ChannelID    uuid.UUID
	Status       vigil.DeliveryStatus
	Page
}

// IncidentFilter selects incidents. Zero members select all.
type IncidentFilter struct {
	Status  vigil.IncidentStatus
	CheckID uuid.UUID
	RuleID  uuid.UUID
	Page
}

// ResultFilter selects results of a check. Zero members select all.
type ResultFilter struct {
	From, To *time.Time // of Result.Time; From is included, To is not
	Region   string
	Success  *bool
	// WithEvidence reads the evidence of the results, too.
	WithEvidence bool
	Page
}

// AuditFilter selects entries of the audit log. Zero members select all.
type AuditFilter struct {
	Resource   string // kind of resource: the part of an action before the dot
	ResourceID uuid.UUID
	UserID     uuid.UUID
	Page
}

// ManagedFilter selects definitions by what manages them. Empty members select all.
type ManagedFilter struct{ Tool, Project, Key string }
