package vigil

import (
	"time"

	"github.com/google/uuid"
)

// IncidentContext is what decisions about the incidents of a check rest on, as
// Postgres has it. An incident workflow reads it at its start and after a refresh
// signal.
type IncidentContext struct {
	// Gone: the check was deleted, with everything that belonged to it.
	Gone bool `json:"gone,omitempty"`

	OrgID    uuid.UUID `json:"org_id"`
	Enabled  bool      `json:"enabled"`
	Revision int64     `json:"revision"`
	// Rules that are enabled.
	Rules []RulePolicy `json:"rules,omitempty"`
	// Regions of the check, sorted.
	Regions []RegionVote `json:"regions,omitempty"`
	// Incident is the open one, nil when there is none.
	Incident *IncidentHead `json:"incident,omitempty"`
	// Latch is set while the episode of an incident that was resolved by hand
	// is not over.
	Latch *Latch `json:"latch,omitempty"`
}

// RegionVote is one region of a check.
type RegionVote struct {
	Region string `json:"region"`
	// Voted: Vote is the region's newest; false before its first.
	Voted bool `json:"voted,omitempty"`
	Vote  Vote `json:"vote,omitzero"`
	// Silent: the region is so late that it has no vote.
	Silent bool `json:"silent,omitempty"`
}

// IncidentHead is the part of an incident that decisions need.
type IncidentHead struct {
	ID     uuid.UUID      `json:"id"`
	Status IncidentStatus `json:"status"`
}

// Latch keeps an episode from opening a second incident.
type Latch struct {
	IncidentID uuid.UUID `json:"incident_id"`
	Quiet      []string  `json:"quiet,omitempty"` // regions quiet since
}

// OpenRequest asks for an incident to be opened.
type OpenRequest struct {
	ID      uuid.UUID `json:"id"`
	CheckID uuid.UUID `json:"check_id"`
	// Rules whose region policy is met.
	Rules []uuid.UUID `json:"rules"`
	// Votes in which one of them fires.
	Votes []Vote `json:"votes"`
	// PublicURL is filled in by whoever stores the incident.
	PublicURL string `json:"-"`
}

// ResolveRequest asks for an incident to be resolved.
type ResolveRequest struct {
	ID         uuid.UUID  `json:"id"`
	Resolution Resolution `json:"resolution"`
	By         string     `json:"by,omitempty"`
	Note       string     `json:"note,omitempty"`
	// Latch: rules still fire; Quiet are the voting regions in which none does.
	Latch bool     `json:"latch,omitempty"`
	Quiet []string `json:"quiet,omitempty"`
	// Regions in which a rule fires, sorted.
	Regions   []string `json:"regions,omitempty"`
	PublicURL string   `json:"-"`
}

// IncidentOutcome is what became of an incident: its head, and whom to tell.
type IncidentOutcome struct {
	Incident IncidentHead `json:"incident"`
	// Changed: this call made the change; false when an earlier one had.
	Changed bool `json:"changed,omitempty"`
	// PendingDeliveries are the channels that have something to be told.
	PendingDeliveries []PendingDelivery `json:"errands,omitempty"`
}

// VoteAck says what a vote that was told may change.
type VoteAck struct {
	// Matters: a rule fires, or an incident of the check is open or latched.
	Relevant bool
	OrgID    uuid.UUID
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
}

// IncidentFilter selects incidents. Zero members do not bind.
type IncidentFilter struct {
	Status  IncidentStatus
	CheckID uuid.UUID
	RuleID  uuid.UUID
	Page
}

// TimelineEntry is one entry of an incident's timeline.
type TimelineEntry struct {
	Time time.Time
	Kind TimelineKind
	// Region and Firing of an edge.
	Region   string
	Failures int
	Firing   []uuid.UUID
	// Event of a change of state, with who did it.
	Event EventType
	By    string
	// Delivery and Attempt of an attempt.
	Delivery *Delivery
	Attempt  *Attempt
}

// TimelineKind says what happened in an incident.
type TimelineKind string

// The kinds of entries in a timeline.
const (
	TimelineEdge    TimelineKind = "edge"    // other rules fire in a region
	TimelineState   TimelineKind = "state"   // the incident changed
	TimelineAttempt TimelineKind = "attempt" // a channel was tried
)

// RegionSilence is a region of a check whose vote ends because it is too late, or
// counts again.
type RegionSilence struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	Region  string
	Silent  bool
}

// UnhandledVote is a vote by which a rule fires although the check has no incident.
type UnhandledVote struct {
	CheckID uuid.UUID
	Region  string
	OrgID   uuid.UUID
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
}
