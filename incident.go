package vigil

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// IncidentStatus is where an incident stands (spec section 3).
type IncidentStatus string

// The incident states. Active and acknowledged ones are open.
const (
	IncidentActive       IncidentStatus = "active"
	IncidentAcknowledged IncidentStatus = "acknowledged"
	IncidentResolved     IncidentStatus = "resolved"
)

// Resolution says what ended an incident.
type Resolution string

// The resolutions.
const (
	ResolvedAutomatically Resolution = "automatic"     // no rule fires any more
	ResolvedManually      Resolution = "manual"        // somebody said so
	ResolvedCheckRemoved  Resolution = "check_removed" // the check was disabled
)

// Incident is one failure episode of a check (spec section 2, Incident).
type Incident struct {
	ID      uuid.UUID
	OrgID   uuid.UUID
	CheckID uuid.UUID
	// RuleID is the rule that names the incident: of those that opened it the
	// gravest, then the oldest. The rule may have been deleted since.
	RuleID      uuid.UUID
	Status      IncidentStatus
	Severity    Severity
	Title       string
	Description string
	Trigger     Trigger
	// Regions in which a rule fired when the incident opened, sorted.
	Regions []string

	StartedAt      time.Time
	AcknowledgedAt *time.Time
	ResolvedAt     *time.Time
	CreatedAt      time.Time

	AcknowledgedBy string // who, for people; empty before
	ResolvedBy     string
	Resolution     Resolution
	Note           string // of who resolved it
	// Latched: resolved by hand while a rule still fired, so that the same
	// episode opens no other incident.
	Latched bool
}

// Open reports whether the incident has not been resolved.
func (i *Incident) Open() bool { return i.Status != IncidentResolved }

// Trigger is why an incident opened.
type Trigger struct {
	// Result that made the rule fire; its Slot is zero when it is not known.
	Result       Result
	Matched      []string // the keys of the rule's condition that matched
	FailureCount int      // failures in a row in that region
	// Days the certificate had left; nil when the rule is not about one.
	Days *int
	// DNSPrevious and DNSCurrent are the records before and after a change.
	DNSPrevious, DNSCurrent string
}

// IncidentFilter selects incidents. Zero members do not bind.
type IncidentFilter struct {
	Status  IncidentStatus
	CheckID uuid.UUID
	RuleID  uuid.UUID
	Page
}

// incidentSpace is the namespace of the ids of incidents, of their events and of
// the deliveries of these.
var incidentSpace = uuid.MustParse("2b1f8c64-0f6f-4a35-b9ce-4d1b4a0e5d92") //nolint:gochecknoglobals // a constant that Go cannot spell as one

// IncidentID is the id of the nth incident of a chain of workflow runs. The
// first run's id makes it unique, and a repeated attempt to open the incident
// has the same id.
func IncidentID(firstRun string, episode int) uuid.UUID {
	return uuid.NewSHA1(incidentSpace, []byte(firstRun+"/"+strconv.Itoa(episode)))
}

// IncidentWorkflowID is the id of the workflow that decides about the incidents
// of a check: the server runs one at most.
func IncidentWorkflowID(checkID uuid.UUID) string { return "incident/" + checkID.String() }

// IncidentContext is what decisions about the incidents of a check rest on, as
// Postgres has it. An incident workflow reads it at its start and after a refresh
// signal.
type IncidentContext struct {
	// Gone: the check was deleted, with everything that belonged to it.
	Deleted bool `json:"gone,omitempty"`

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
