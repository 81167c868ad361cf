// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// Limits of a maintenance window.
const (
	MaxName     = 200 // characters
	MaxChecks   = 1000
	MaxLabels   = 20
	MinDuration = time.Minute
	MaxDuration = 14 * 24 * time.Hour
	// Horizon is how far ahead occurrences are stored.
	Horizon = 400 * 24 * time.Hour
	// MaxOccurrences is how many occurrences of a window are stored ahead.
	MaxOccurrences = 400
	// MaxPast is how far in the past a window may start.
	MaxPast = 90 * 24 * time.Hour
)

// Probing says whether checks are probed during maintenance.
type Probing string

// What a window does to probing.
const (
	ProbingContinue Probing = "continue"
	ProbingPause    Probing = "pause"
)

// Uptime says whether results during maintenance count for uptime.
type Uptime string

// What a window does to uptime.
const (
	UptimeExclude Uptime = "exclude"
	UptimeInclude Uptime = "include"
)

// Scope is what a window covers: the union of its members. Without any it covers
// nothing.
type Scope struct {
	CheckIDs []uuid.UUID
	Labels   []string // selectors key=value; one that matches is enough
	All      bool     // every check of the organization, also later ones
}

// Covers reports whether a check of the organization is covered.
func (s *Scope) Covers(check uuid.UUID, labels vigil.Labels) bool {
	return s.All || slices.Contains(s.CheckIDs, check) || slices.ContainsFunc(s.Labels, func(selector string) bool {
		key, value := vigil.CutSelector(selector)
		found, ok := labels[key]
		return ok && found == value
	})
}

// Window is planned work on the targets of checks. During its occurrences no
// incident of a check that it covers opens.
type Window struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	Name  string
	Scope Scope
	Schedule
	Probing Probing
	Uptime  Uptime
	Enabled bool
	// ManagedBy names the program that manages the window; nil when none does.
	ManagedBy *vigil.ManagedBy
	// AppliedVersion is the version that POST /v1/apply stored last; 0 for none.
	AppliedVersion int64
	// Version increases by one with every change; the API shows it as the revision.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Schedule says when a window is in force.
type Schedule struct {
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
func (s *Schedule) Recurs() bool { return s.RRule != "" || s.Cron != "" }

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

// State is where a window is in its life.
type State string

// States of a window: an occurrence runs, the next one is known, there is none, or it is
// switched off.
const (
	Active   State = "active"
	Upcoming State = "upcoming"
	Ended    State = "ended"
	Disabled State = "disabled"
)

// Filter selects maintenance windows. Zero members select all.
type Filter struct {
	State   State
	CheckID *uuid.UUID // windows that cover this check
	Managed listing.ManagedFilter
	Page    listing.Page
}

// Status is a window with its occurrences around the present.
type Status struct {
	Window

	State State
	// Current is the occurrence that runs; nil when none does.
	Current *Occurrence
	// Next are the occurrences that start later, the earliest first, at most 10.
	Next []Occurrence
	// ChecksCovered is how many checks the window covers now.
	ChecksCovered int64
}

// Span is an occurrence with what its window does: what workers need to know.
type Span struct {
	Occurrence

	WindowID uuid.UUID
	OrgID    uuid.UUID
	Name     string
	Timezone string
	Scope    Scope
	Probing  Probing
	Uptime   Uptime
	// Removed: the occurrence is not in force any more.
	Removed bool
}
