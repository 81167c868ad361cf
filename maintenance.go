// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Limits of a maintenance window.
const (
	MaxMaintenanceName     = 200 // characters
	MaxMaintenanceChecks   = 1000
	MaxMaintenanceLabels   = 20
	MinMaintenanceDuration = time.Minute
	MaxMaintenanceDuration = 14 * 24 * time.Hour
	// MaintenanceHorizon is how far ahead occurrences are stored.
	MaintenanceHorizon = 400 * 24 * time.Hour
	// MaxOccurrences is how many occurrences of a window are stored ahead.
	MaxOccurrences = 400
	// MaxMaintenancePast is how far in the past a window may start.
	MaxMaintenancePast = 90 * 24 * time.Hour
)

// MaintenanceProbing says whether checks are probed during maintenance.
type MaintenanceProbing string

// What a window does to probing.
const (
	ProbingContinue MaintenanceProbing = "continue"
	ProbingPause    MaintenanceProbing = "pause"
)

// MaintenanceUptime says whether results during maintenance count for uptime.
type MaintenanceUptime string

// What a window does to uptime.
const (
	UptimeExclude MaintenanceUptime = "exclude"
	UptimeInclude MaintenanceUptime = "include"
)

// MaintenanceScope is what a window covers: the union of its members. Without any it covers
// nothing.
type MaintenanceScope struct {
	CheckIDs []uuid.UUID
	Labels   []string // selectors key=value; one that matches is enough
	All      bool     // every check of the organization, also later ones
}

// Covers reports whether a check of the organization is covered.
func (s *MaintenanceScope) Covers(check uuid.UUID, labels Labels) bool {
	return s.All || slices.Contains(s.CheckIDs, check) || slices.ContainsFunc(s.Labels, func(selector string) bool {
		key, value := CutSelector(selector)
		found, ok := labels[key]
		return ok && found == value
	})
}

// MaintenanceWindow is planned work on the targets of checks. During its occurrences no
// incident of a check that it covers opens.
type MaintenanceWindow struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	Name  string
	Scope MaintenanceScope
	MaintenanceSchedule
	Probing MaintenanceProbing
	Uptime  MaintenanceUptime
	Enabled bool
	// ManagedBy names the program that manages the window; nil when none does.
	ManagedBy *ManagedBy
	// AppliedVersion is the version that POST /v1/apply stored last; 0 for none.
	AppliedVersion int64
	// Version increases by one with every change; the API shows it as the revision.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// MaintenanceSchedule says when a window is in force.
type MaintenanceSchedule struct {
	// StartsAt is the wall time in Timezone at which the first occurrence starts, whole
	// seconds. Its location is UTC, which says nothing.
	StartsAt time.Time
	Timezone string        // IANA name
	Duration time.Duration // elapsed, whole seconds; also across changes of the clock
	// At most one of RRule (a subset of RFC 5545, without "RRULE:") and Cron (5 fields)
	// is set. With neither the window has one occurrence.
	RRule string
	Cron  string
	// Until is the wall time after which no occurrence starts; nil for no end.
	Until *time.Time
}

// Recurs reports whether the schedule may have more than one occurrence.
func (s *MaintenanceSchedule) Recurs() bool { return s.RRule != "" || s.Cron != "" }

// Occurrence is a span [StartsAt, EndsAt) in which a window is in force.
type Occurrence struct {
	StartsAt time.Time
	EndsAt   time.Time
	// Shifted: the wall time of the start does not exist on that day, because clocks are
	// set forward; the occurrence starts at the first instant after the gap.
	Shifted bool
}

// Holds reports whether the instant is in the occurrence.
func (o Occurrence) Holds(t time.Time) bool { return !t.Before(o.StartsAt) && t.Before(o.EndsAt) }

// MaintenanceState is where a window is in its life.
type MaintenanceState string

// States of a window: an occurrence runs, the next one is known, there is none, or it is
// switched off.
const (
	MaintenanceActive   MaintenanceState = "active"
	MaintenanceUpcoming MaintenanceState = "upcoming"
	MaintenanceEnded    MaintenanceState = "ended"
	MaintenanceDisabled MaintenanceState = "disabled"
)

// MaintenanceFilter selects maintenance windows. Zero members select all.
type MaintenanceFilter struct {
	State   MaintenanceState
	CheckID *uuid.UUID // windows that cover this check
	Managed ManagedFilter
	Page    Page
}

// MaintenanceStatus is a window with its occurrences around the present.
type MaintenanceStatus struct {
	MaintenanceWindow

	State MaintenanceState
	// Current is the occurrence that runs; nil when none does.
	Current *Occurrence
	// Next are the occurrences that start later, the earliest first, at most 10.
	Next []Occurrence
	// ChecksCovered is how many checks the window covers now.
	ChecksCovered int64
}

// MaintenanceSpan is an occurrence with what its window does: what workers need to know.
type MaintenanceSpan struct {
	Occurrence

	WindowID uuid.UUID
	OrgID    uuid.UUID
	Name     string
	Timezone string
	Scope    MaintenanceScope
	Probing  MaintenanceProbing
	Uptime   MaintenanceUptime
	// Removed: the occurrence is not in force any more.
	Removed bool
}
