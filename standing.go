package vigil

import (
	"time"

	"github.com/google/uuid"
)

// Standing is where a check stands with its incidents, as Postgres has it: what
// an incident workflow starts from, and returns to when it is told to look.
type Standing struct {
	OrgID    uuid.UUID `json:"org_id"`
	Enabled  bool      `json:"enabled"`
	Revision int64     `json:"revision"`
	// Rules that are enabled.
	Rules []RulePolicy `json:"rules,omitempty"`
	// Regions of the check, sorted.
	Regions []RegionStanding `json:"regions,omitempty"`
	// Incident is the open one, nil when there is none.
	Incident *IncidentHead `json:"incident,omitempty"`
	// Latch is set while the episode of an incident that was resolved by hand
	// is not over.
	Latch *Latch `json:"latch,omitempty"`
}

// RegionStanding is one region of a check.
type RegionStanding struct {
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

// Opening asks for an incident to be opened.
type Opening struct {
	ID      uuid.UUID `json:"id"`
	CheckID uuid.UUID `json:"check_id"`
	// Rules whose region policy is met.
	Rules []uuid.UUID `json:"rules"`
	// Votes in which one of them fires.
	Votes []Vote `json:"votes"`
	// PublicURL is filled in by whoever stores the incident.
	PublicURL string `json:"-"`
}

// Closing asks for an incident to be resolved.
type Closing struct {
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

// Outcome is what became of an incident: its head, and whom to tell.
type Outcome struct {
	Incident IncidentHead `json:"incident"`
	// Changed: this call made the change; false when an earlier one had.
	Changed bool `json:"changed,omitempty"`
	// Errands are the channels that have something to be told.
	Errands []Errand `json:"errands,omitempty"`
}

// Errand names a channel that has something to be told about an incident.
type Errand struct {
	IncidentID  uuid.UUID   `json:"incident_id"`
	ChannelID   uuid.UUID   `json:"channel_id"`
	OrgID       uuid.UUID   `json:"org_id"`
	CheckID     uuid.UUID   `json:"check_id"`
	ChannelType ChannelType `json:"channel_type"`
	CheckName   string      `json:"check_name"`
	ChannelName string      `json:"channel_name"`
}

// Hearing says what a vote that was told may change.
type Hearing struct {
	// Matters: a rule fires, or an incident of the check is open or latched.
	Matters bool
	OrgID   uuid.UUID
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

// DeliveryFilter selects deliveries. Zero members do not bind.
type DeliveryFilter struct {
	IncidentID uuid.UUID
	ChannelID  uuid.UUID
	Status     DeliveryStatus
	Page
}

// Moment is one entry of an incident's timeline.
type Moment struct {
	Time time.Time
	Kind MomentKind
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

// MomentKind says what happened in an incident.
type MomentKind string

// The kinds of entries in a timeline.
const (
	MomentEdge    MomentKind = "edge"    // other rules fire in a region
	MomentState   MomentKind = "state"   // the incident changed
	MomentAttempt MomentKind = "attempt" // a channel was tried
)

// Silence is a region of a check whose vote ends because it is too late, or
// counts again.
type Silence struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	Region  string
	Silent  bool
}

// Unheard is a vote by which a rule fires although the check has no incident.
type Unheard struct {
	CheckID uuid.UUID
	Region  string
	OrgID   uuid.UUID
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
}

// PickupState says what came of picking up the next message for a channel.
type PickupState string

// The states of a pickup.
const (
	PickupNothing PickupState = "nothing" // all is told
	PickupLater   PickupState = "later"   // not before Until
	PickupBusy    PickupState = "busy"    // the channel has enough in flight
	PickupLost    PickupState = "lost"    // an attempt's outcome is unknown; settle it first
	PickupReady   PickupState = "ready"   // send it: the attempt is on record
)

// Pickup is the next message for a channel.
type Pickup struct {
	State PickupState
	Until time.Time // of PickupLater
	// Delivery of PickupLost and PickupReady, and its attempt.
	Delivery Delivery
	Attempt  Attempt
	// Event to be told, with PickupReady. Body is what an earlier attempt sent
	// in place of its envelope, nil when there was none.
	Event    Event
	Body     []byte
	Severity Severity
	Merged   bool
	// Last is the status of the delivery that ended last, for PickupNothing;
	// empty when there never was one.
	Last DeliveryStatus
}

// Settlement is what became of an attempt.
type Settlement struct {
	Attempt   Attempt // as it ended
	Delivered bool
	// NextAttemptAt is when to try again; nil: never. It binds only an attempt
	// that counts.
	NextAttemptAt *time.Time
	Merged        bool
}

// Rest is what is left to tell a channel after an attempt.
type Rest struct {
	Status   DeliveryStatus // of the delivery that was tried
	Failures int            // of it
	Left     bool           // it, or another of the same incident, is to be tried
	Until    time.Time      // not before; zero: at once
}
