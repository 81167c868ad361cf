// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// Limits of a status page.
const (
	MaxStatusGroups = 50
	MaxStatusChecks = 200 // in all groups
)

// StatusPage shows the state of chosen checks to the public, under names of its own.
type StatusPage struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	// Slug is the last part of its address, unique among all organizations.
	Slug   string
	Title  string
	Groups []StatusGroup
	// NoIndex asks search engines to leave the page out.
	NoIndex bool
	Enabled bool
	StatusLooks
	// HostVerifiedAt is when DNS showed that the page may have its host; nil: not yet.
	HostVerifiedAt *time.Time `json:"-"`
	// Protected: readers need a password.
	Protected bool `json:"-"`
	// Logo: the page has a picture at its top.
	Logo bool `json:"-"`
	// Subscribers is how many readers have confirmed that they want messages.
	Subscribers int64 `json:"-"`
	// Version increases by one with every change of the page, also when one of its checks is
	// deleted; the API shows it as the revision.
	Version int64
	// ManagedBy is what manages the page; nil: nothing does.
	ManagedBy *vigil.ManagedBy `json:"-"`
	// AppliedVersion is the version that apply stored last; 0: none. A later Version was
	// made by somebody else.
	AppliedVersion int64 `json:"-"`
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// StatusLooks are the choices of a page about its form and what else it gives away.
type StatusLooks struct {
	// Accent is the color of links and buttons, such as #3a4cc8; empty: that of the style.
	Accent string `json:",omitempty"`
	// Host is the name under which the page is served at /; empty: none.
	Host string `json:",omitempty"`
	// ResponseTimes: badges with the response times of checks are public.
	ResponseTimes bool `json:",omitempty"`
	// Subscriptions: readers may ask for messages.
	Subscriptions bool `json:",omitempty"`
}

// StatusPageFilter selects status pages. Zero members select all.
type StatusPageFilter struct {
	Managed listing.ManagedFilter
	listing.Page
}

// StatusGroup is a heading of a status page and the checks below it.
type StatusGroup struct {
	Name   string // may be empty: no heading
	Checks []PublicCheck
}

// PublicCheck is a check on a status page.
type PublicCheck struct {
	CheckID uuid.UUID
	Name    string // for the public
}

// Checks returns the ids of the page's checks, in their order.
func (p *StatusPage) Checks() []uuid.UUID {
	var ids []uuid.UUID
	for _, group := range p.Groups {
		for _, check := range group.Checks {
			ids = append(ids, check.CheckID)
		}
	}
	return ids
}

// UpdateState is how far people are with an incident, as they say it to the public.
type UpdateState string

// States of public updates. They change nothing about the incident itself.
const (
	UpdateInvestigating UpdateState = "investigating"
	UpdateIdentified    UpdateState = "identified"
	UpdateMonitoring    UpdateState = "monitoring"
	UpdateResolved      UpdateState = "resolved"
)

// MaxIncidentUpdates is how many public updates an incident can have.
const MaxIncidentUpdates = 100

// IncidentUpdate is what a person writes for the public about an incident.
type IncidentUpdate struct {
	ID         uuid.UUID
	OrgID      uuid.UUID
	IncidentID uuid.UUID
	State      UpdateState
	Text       string
	Author     string // address of the person; never public
	CreatedAt  time.Time
}

// StatusReport is what an enabled status page is made of.
type StatusReport struct {
	Page StatusPage
	// PasswordHash is the argon2id hash of the password that readers need; empty: none. It is never
	// shown.
	PasswordHash string
	Checks       map[uuid.UUID]ReportedCheck
	// Incidents of the checks, newest first.
	Incidents []PublicIncident
	// Maintenance of the checks that runs or is announced, or ended within the last hour, the earliest
	// first.
	Maintenance []PublicMaintenance
}

// MaxReportedIncidents bounds the incidents of a report: those that are open, and then those that ended last.
const MaxReportedIncidents = 200

// MaintenanceAnnounced is how long before its start a status page shows maintenance.
const MaintenanceAnnounced = 14 * 24 * time.Hour

// PublicMaintenance is an occurrence of a maintenance window as a status page needs it. The
// name of the window is not for the public.
type PublicMaintenance struct {
	// Key names the occurrence; it is not for the public.
	Key      string
	StartsAt time.Time
	EndsAt   time.Time
	CheckIDs []uuid.UUID // of the page
}

// ReportedCheck is the present state of a check on a status page.
type ReportedCheck struct {
	Enabled bool
	// Watched: a rule of the check opens an incident when it fails.
	Watched bool
	Regions []RegionHealth
}

// RegionHealth is the newest result of a check in a region.
type RegionHealth struct {
	Region string
	Health vigil.Health
	// Probed: there is a result. Without one that is recent the health is Unknown.
	Probed bool
}

// PublicIncident is an incident as a status page needs it.
type PublicIncident struct {
	ID         uuid.UUID
	CheckID    uuid.UUID
	Failing    bool // a failing result opened it
	Slow       bool // a response time opened it
	StartedAt  time.Time
	ResolvedAt *time.Time // nil while it is open
	Regions    []string
	Updates    []IncidentUpdate // newest first, without authors
}

// DayCount counts the results of a check on a day (UTC).
type DayCount struct {
	Total  int64
	Failed int64
	// Hours is in how many hours of the day there is a result, 0 to 24.
	Hours int64
	// SumMS is the sum of the response times of the results that did not fail, in milliseconds.
	SumMS float64
}

// slugForm is that of a label of a host name.
var slugForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ValidSlug reports whether a text can be the address of a status page: 1 to 63 lower-case
// letters, digits and hyphens, with no hyphen at either end.
func ValidSlug(text string) bool { return slugForm.MatchString(text) }
