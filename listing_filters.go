// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"time"

	"github.com/google/uuid"
)

// RuleFilter selects alert rules. Zero members select all.
type RuleFilter struct {
	CheckID   uuid.UUID
	ChannelID uuid.UUID // that the rule notifies
	Query     string    // a part of the name, in any case
	Enabled   *bool
	Labels    []LabelSelector
	Managed   ManagedFilter
	Page
}

// ChannelFilter selects channels. Zero members select all.
type ChannelFilter struct {
	Query   string // a part of the name, in any case
	Type    ChannelType
	Enabled *bool
	Labels  []LabelSelector
	Managed ManagedFilter
	Page
}

// DeliveryFilter selects deliveries. Zero members do not bind.
type DeliveryFilter struct {
	IncidentID   uuid.UUID
	UnobservedID uuid.UUID // of the time without results; see UnobservedCheck
	ChannelID    uuid.UUID
	Status       DeliveryStatus
	Page
}

// IncidentFilter selects incidents. Zero members select all.
type IncidentFilter struct {
	Status  IncidentStatus
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
