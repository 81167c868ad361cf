package vigil

import (
	"cmp"
	"slices"
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

// Vote is what one region says of a check: the rules that fire there, as of a
// slot. It is a level and not an edge: the newest vote of a region is all that
// counts.
type Vote struct {
	Region   string    `json:"region"`
	Revision int64     `json:"revision"` // of the definition that was evaluated
	Slot     time.Time `json:"slot,omitzero"`
	Failures int       `json:"failures,omitempty"` // in a row, at the slot
	// Firing are the ids of the rules that fire, sorted.
	Firing []uuid.UUID `json:"firing,omitempty"`
}

// NewerThan reports whether v replaces other as the vote of its region.
func (v Vote) NewerThan(other Vote) bool {
	return cmp.Or(cmp.Compare(v.Revision, other.Revision), v.Slot.Compare(other.Slot)) > 0
}

// RulePolicy is what a decision needs to know of an enabled rule.
type RulePolicy struct {
	ID     uuid.UUID    `json:"id"`
	Policy RegionPolicy `json:"policy"`
}

// DecisionInput is everything that a decision about a check's incident rests on.
type DecisionInput struct {
	// Enabled is false for a check that was disabled.
	Enabled bool
	// Rules of the check that are enabled. A vote for any other rule is void.
	Rules []RulePolicy
	// Votes of the regions that have one: not those that were removed or fell
	// silent.
	Votes []Vote
	// Open: an incident is open. Latched: the last one was resolved by hand and
	// its episode is not over; Quiet are the regions that have been quiet since.
	Open    bool
	Latched bool
	Quiet   []string
}

// Decision says what has to happen. At most one of Open, Resolve and Remove.
type Decision struct {
	// Open an incident: Rules are those whose region policy is met.
	Open  bool
	Rules []uuid.UUID
	// Resolve the open incident: no voting region fires any rule. Remove: its
	// check was disabled.
	Resolve bool
	Remove  bool
	// Quiet are the regions that have been quiet since the latch was set, and
	// Unlatch says that they are all that vote.
	Quiet   []string
	Unlatch bool
	// Firing: some voting region fires a rule, so there is reason to go on
	// watching.
	Firing bool
}

// Decide applies the region policies to the votes (spec section 3). Without a
// vote nothing changes.
func Decide(s DecisionInput) Decision {
	d := Decision{Quiet: s.Quiet}
	if !s.Enabled {
		d.Remove, d.Unlatch = s.Open, s.Latched
		return d
	}
	if len(s.Votes) == 0 {
		return d
	}
	for _, rule := range s.Rules {
		n := 0
		for _, vote := range s.Votes {
			if slices.Contains(vote.Firing, rule.ID) {
				n++
			}
		}
		d.Firing = d.Firing || n > 0
		if rule.Policy.Met(n, len(s.Votes)) {
			d.Rules = append(d.Rules, rule.ID)
		}
	}
	if s.Latched {
		d.Quiet, d.Unlatch = quietSince(s)
	}
	d.Open = !s.Open && (!s.Latched || d.Unlatch) && len(d.Rules) > 0
	d.Resolve = s.Open && !d.Firing
	if !d.Open {
		d.Rules = nil
	}
	return d
}

// quietSince returns the regions that have been quiet at some time since the
// latch was set, and whether every voting region is among them.
func quietSince(s DecisionInput) (quiet []string, all bool) {
	quiet, all = slices.Clone(s.Quiet), true
	for _, vote := range s.Votes {
		fires := slices.ContainsFunc(s.Rules, func(r RulePolicy) bool { return slices.Contains(vote.Firing, r.ID) })
		switch {
		case slices.Contains(quiet, vote.Region):
		case fires:
			all = false
		default:
			quiet = append(quiet, vote.Region)
		}
	}
	slices.Sort(quiet)
	return quiet, all
}
