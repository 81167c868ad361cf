// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// IncidentStatus is the state of an incident (spec section 3).
type IncidentStatus string

// Incident states. Active and acknowledged incidents are open.
const (
	IncidentActive       IncidentStatus = "active"
	IncidentAcknowledged IncidentStatus = "acknowledged"
	IncidentResolved     IncidentStatus = "resolved"
)

// Resolution is how an incident was resolved.
type Resolution string

// Resolutions.
const (
	ResolvedAutomatically Resolution = "automatic"     // no rule fires in a voting region
	ResolvedManually      Resolution = "manual"        // by a user
	ResolvedCheckRemoved  Resolution = "check_removed" // its check was disabled or deleted
)

// Incident is one failure episode of a check (spec section 2, Incident).
type Incident struct {
	ID      uuid.UUID
	OrgID   uuid.UUID
	CheckID uuid.UUID
	// RuleID is the leading rule, which names the incident: the first in the order of
	// SortRules of those that opened it. It may have been deleted since.
	RuleID      uuid.UUID
	Status      IncidentStatus
	Severity    Severity
	Title       string
	Description string
	Trigger     Trigger
	// Regions in which a rule fired when the incident opened, sorted.
	Regions []string

	// TraceID is that of the trace of the incident; see SlotTrace.
	TraceID string

	StartedAt      time.Time
	AcknowledgedAt *time.Time
	ResolvedAt     *time.Time
	CreatedAt      time.Time

	AcknowledgedBy string // user or channel, for display; empty before
	ResolvedBy     string
	Resolution     Resolution
	Note           string // by the user who resolved it
	// Latched is true for an incident that a user resolved while a rule fired: no
	// other incident opens until every region has been quiet.
	Latched bool
	// Rules that fired, in the order in which they began, those that opened it first.
	Rules []IncidentRule
}

// Open reports whether the incident is not resolved.
func (i *Incident) Open() bool { return i.Status != IncidentResolved }

// Trigger describes why an incident opened.
type Trigger struct {
	// Result that made the leading rule fire. Its Slot is zero when it is not stored.
	Result       Result
	Matched      []string // keys of the rule's condition, in their fixed order
	FailureCount int      // failures in a row in that region
	// Days that the certificate had left; nil for a rule without ssl_days_remaining.
	Days *int
	// DNSPrevious and DNSCurrent are the records before and after a change; empty
	// unless dns_changed matched.
	DNSPrevious, DNSCurrent string
}

// incidentSpace is the UUID namespace of incidents, their events and their
// deliveries.
var incidentSpace = uuid.MustParse("2b1f8c64-0f6f-4a35-b9ce-4d1b4a0e5d92") //nolint:gochecknoglobals // constant

// DerivedID returns the ID that follows from a name in the namespace of incidents, their events and
// their deliveries (UUID version 5, RFC 9562). The same name has the same ID, so that what is made
// again is no second one.
func DerivedID(name []byte) uuid.UUID { return uuid.NewSHA1(incidentSpace, name) }

// IncidentID returns the ID of the nth incident of a chain of workflow runs. It
// depends on the ID of the first run and on n only, so a retry opens no second
// incident.
func IncidentID(firstRun string, episode int) uuid.UUID {
	return DerivedID([]byte(firstRun + "/" + strconv.Itoa(episode)))
}

// IncidentWorkflowID returns the ID of the incident workflow of a check.
func IncidentWorkflowID(checkID uuid.UUID) string { return "incident/" + checkID.String() }

// IncidentContext is the stored state that an incident workflow decides by. It reads
// the context when it starts, after a refresh signal, and when a vote shows that
// the context is out of date.
type IncidentContext struct {
	// Deleted is true when the check does not exist any more.
	Deleted bool `json:"deleted,omitempty"`

	OrgID    uuid.UUID `json:"org_id"`
	Enabled  bool      `json:"enabled"`
	Revision int64     `json:"revision"`
	// Rules of the check that are enabled, by ID.
	Rules []RulePolicy `json:"rules,omitempty"`
	// Regions of the check, by name.
	Regions []RegionVote `json:"regions,omitempty"`
	// Incident is the open one, or nil.
	Incident *IncidentHead `json:"incident,omitempty"`
	// Latch is that of the latched incident, or nil.
	Latch *Latch `json:"latch,omitempty"`
	// Maintenance is what the check is in when the context is read, or nil.
	Maintenance *MaintenanceHead `json:"maintenance,omitempty"`
}

// MaintenanceHead is the part of a maintenance window that decisions need.
type MaintenanceHead struct {
	WindowID uuid.UUID `json:"window_id"`
	Until    time.Time `json:"until"` // the end of the last occurrence that runs
}

// IncidentHead is the part of an incident that decisions need.
type IncidentHead struct {
	ID     uuid.UUID      `json:"id"`
	Status IncidentStatus `json:"status"`
	// TraceID is that of the trace of the incident.
	TraceID string `json:"trace_id,omitempty"`
	// Rules that fired, in the order in which they began.
	Rules []FiredRule `json:"rules,omitempty"`
}

// Latch keeps rules from opening another incident: those that fired when a user resolved
// one. A rule leaves it when it fires in no region, all of them do when every region has
// been quiet.
type Latch struct {
	IncidentID uuid.UUID `json:"incident_id"`
	Quiet      []string  `json:"quiet,omitempty"` // regions quiet since, sorted
	// Rules that are latched, sorted; none: all are.
	Rules []uuid.UUID `json:"rules,omitempty"`
}

// OpenRequest is a request to open an incident.
type OpenRequest struct {
	ID      uuid.UUID `json:"id"`
	CheckID uuid.UUID `json:"check_id"`
	// Rules whose region policy is met.
	Rules []uuid.UUID `json:"rules"`
	// Votes with one of these rules firing, by region.
	Votes []Vote `json:"votes"`
	// Restored: the incident was open before the database was restored, so that maintenance
	// does not keep it from opening.
	Restored bool `json:"restored,omitempty"`
	// PublicURL is the address of the API for links, set by the activity.
	PublicURL string `json:"-"`
}

// UserAction is what a user does to an incident.
type UserAction struct {
	OrgID      uuid.UUID
	IncidentID uuid.UUID
	By         string // name or address of the user, for display
	Note       string // of a resolution
	// Key makes a repeated action the same action. It is the Idempotency-Key of the
	// request, at most 255 characters; empty in a request without one.
	Key string
}

// IncidentText is what a user wrote for an incident, and who wrote it. Requests to
// workflows and activities contain its ID only, so that no text and no address is in
// the history of a workflow. It is deleted when it is applied.
type IncidentText struct {
	ID         uuid.UUID
	IncidentID uuid.UUID
	Author     string
	Note       string
}

// ActionID returns the ID of a user's action on an incident, which is also that of its
// text. It follows from the operation, the incident and the key.
func (a *UserAction) ActionID(operation string) uuid.UUID {
	return DerivedID([]byte(operation + "/" + a.IncidentID.String() + "/" + a.Key))
}

// AcknowledgeRequest is a request to acknowledge an incident.
type AcknowledgeRequest struct {
	ID uuid.UUID
	// TextID is the IncidentText with the author; uuid.Nil: there is none.
	TextID uuid.UUID
	// PublicURL is the address of the API for links.
	PublicURL string
}

// ResolveRequest is a request to resolve an incident.
type ResolveRequest struct {
	ID         uuid.UUID  `json:"id"`
	Resolution Resolution `json:"resolution"`
	// TextID is the IncidentText with the author and the note; uuid.Nil: there is none.
	TextID uuid.UUID `json:"text_id,omitzero"`
	// Latch the incident. Quiet are the voting regions in which no rule fires.
	Latch bool     `json:"latch,omitempty"`
	Quiet []string `json:"quiet,omitempty"`
	// LatchedRules are the rules that the latch keeps, sorted; none: all.
	LatchedRules []uuid.UUID `json:"held,omitempty"`
	// Regions in which a rule fires, sorted.
	Regions []string `json:"regions,omitempty"`
	// PublicURL is the address of the API for links, set by the activity.
	PublicURL string `json:"-"`
}

// IncidentOutcome is the result of a change of an incident.
type IncidentOutcome struct {
	Incident IncidentHead `json:"incident"`
	// Changed is false when an earlier call had made the change.
	Changed bool `json:"changed,omitempty"`
	// Drill: the incident is that of a drill, which no figure counts.
	Drill bool `json:"-"`
	// PendingDeliveries of the incident, one for each channel that has a message due.
	PendingDeliveries []PendingDelivery `json:"pending_deliveries,omitempty"`
	// MaintenanceLeft is how long the check is in maintenance yet, when no incident was opened because
	// of it; 0 otherwise.
	MaintenanceLeft time.Duration `json:"-"`
}

// ResultSpan is a part of the results of a loop, with slots in [From, To).
type ResultSpan struct {
	CheckID  uuid.UUID
	Region   string
	From, To time.Time
	Due      time.Time // when it is to be marked; another change of it makes it later
}

// TimelineEntry is one entry of an incident's timeline.
type TimelineEntry struct {
	Time time.Time
	Kind TimelineKind
	// Region, Failures (in a row) and Firing (rule IDs) of an edge.
	Region   string
	Failures int
	Firing   []uuid.UUID
	// Event of a change of status, and the user who made it.
	Event EventType
	By    string
	// Delivery and Attempt of an attempt.
	Delivery *Delivery
	Attempt  *Attempt
}

// TimelineKind is the kind of a timeline entry.
type TimelineKind string

// Timeline kinds.
const (
	TimelineEdge    TimelineKind = "edge"    // the firing rules of a region changed
	TimelineState   TimelineKind = "state"   // the incident changed its status
	TimelineAttempt TimelineKind = "attempt" // a message was sent, or failed
)
