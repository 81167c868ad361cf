package vigil

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Vote is the state of a check's rules in one region: those that fire there, as of a
// slot. It is a level, not an edge: only the newest vote of a region counts.
type Vote struct {
	Region   string    `json:"region"`
	Revision int64     `json:"revision"` // of the definition that was evaluated
	Slot     time.Time `json:"slot,omitzero"`
	Failures int       `json:"failures,omitempty"` // in a row, at the slot
	// Firing are the ids of the rules that fire, sorted.
	Firing []uuid.UUID `json:"firing,omitempty"`
	// Matches say why, one for each of Firing. A vote that an older worker reported
	// or stored has none.
	Matches []Match `json:"matches,omitempty"`
}

// LastVote is what is known of the stored vote of a region. Slot is zero when there is none.
type LastVote struct {
	Slot  time.Time
	Fires bool // a rule fires
}

// MatchOf returns what made a rule fire; false when the vote does not say.
func (v Vote) MatchOf(rule uuid.UUID) (Match, bool) {
	at := slices.IndexFunc(v.Matches, func(m Match) bool { return m.Rule == rule })
	if at < 0 {
		return Match{}, false
	}
	return v.Matches[at], true
}

// LeadingVote returns the vote that explains why a rule fires: the oldest one in
// which it does, of several at the same slot that of the first region by name.
// False: the rule fires in none.
func LeadingVote(votes []Vote, rule uuid.UUID) (Vote, bool) {
	firing := slices.DeleteFunc(slices.Clone(votes), func(v Vote) bool { return !slices.Contains(v.Firing, rule) })
	if len(firing) == 0 {
		return Vote{}, false
	}
	return slices.MinFunc(firing, func(a, b Vote) int {
		return cmp.Or(a.Slot.Compare(b.Slot), cmp.Compare(a.Region, b.Region))
	}), true
}

// NewerThan reports whether v replaces other as the vote of its region.
func (v Vote) NewerThan(other Vote) bool {
	return cmp.Or(cmp.Compare(v.Revision, other.Revision), v.Slot.Compare(other.Slot)) > 0
}

// RegionVote is a region of a check with its vote.
type RegionVote struct {
	Region string `json:"region"`
	// Voted is false until the region has a vote. Vote is its newest.
	Voted bool `json:"voted,omitempty"`
	Vote  Vote `json:"vote,omitzero"`
	// Silent is true while the region is too late for its vote to count.
	Silent bool `json:"silent,omitempty"`
}

// VoteAck is the answer to a vote that was stored.
type VoteAck struct {
	// Relevant is true when a rule fires, or an incident of the check is open or
	// latched: the incident workflow must run.
	Relevant bool
	OrgID    uuid.UUID
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
	// TraceID is that of the open incident; empty: none is open.
	TraceID string
}

// RegionSilence is a region that became silent, so that its vote does not count, or
// that ceased to be.
type RegionSilence struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	Region  string
	Silent  bool
}

// UnhandledVote is a vote with a firing rule of a check that has no incident.
type UnhandledVote struct {
	CheckID uuid.UUID
	Region  string
	OrgID   uuid.UUID
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
}

// RulePolicy is the part of an enabled rule that decisions need.
type RulePolicy struct {
	ID     uuid.UUID    `json:"id"`
	Policy RegionPolicy `json:"policy"`
}

// DecisionInput is the complete input of Decide.
type DecisionInput struct {
	// Enabled is false for a check that was disabled.
	Enabled bool
	// Rules of the check that are enabled. Firing rules that are not among them do
	// not count.
	Rules []RulePolicy
	// Votes, one for each region that has one. Regions that were removed or are
	// silent have none.
	Votes []Vote
	// Open is true while an incident is open. Latched is true while the last one is
	// latched; Quiet are the regions that have been quiet since, sorted.
	Open    bool
	Latched bool
	Quiet   []string
	// InMaintenance is true while the check is in maintenance: no incident opens. Everything
	// else is as outside of it.
	InMaintenance bool
}

// Decision is what the incident workflow must do. At most one of Open, Resolve and
// Remove is true.
type Decision struct {
	// Open an incident for Rules, whose region policies are met.
	Open  bool
	Rules []uuid.UUID
	// Resolve the open incident: no rule fires in a voting region. Remove it: its
	// check was disabled.
	Resolve bool
	Remove  bool
	// Quiet are the regions that have been quiet since the latch was set, sorted.
	// Unlatch is true when these are all voting regions.
	Quiet   []string
	Unlatch bool
	// Firing is true when a rule fires in a voting region.
	Firing bool
}

// Decide applies the region policies to the votes (spec section 3). Without votes of
// an enabled check it changes nothing.
func Decide(in DecisionInput) Decision {
	d := Decision{Quiet: in.Quiet}
	if !in.Enabled {
		d.Remove, d.Unlatch = in.Open, in.Latched
		return d
	}
	if len(in.Votes) == 0 {
		return d
	}
	for _, rule := range in.Rules {
		n := 0
		for _, vote := range in.Votes {
			if slices.Contains(vote.Firing, rule.ID) {
				n++
			}
		}
		d.Firing = d.Firing || n > 0
		if rule.Policy.Met(n, len(in.Votes)) {
			d.Rules = append(d.Rules, rule.ID)
		}
	}
	if in.Latched {
		d.Quiet, d.Unlatch = quietRegions(in)
	}
	d.Open = !in.Open && !in.InMaintenance && (!in.Latched || d.Unlatch) && len(d.Rules) > 0
	d.Resolve = in.Open && !d.Firing
	if !d.Open {
		d.Rules = nil
	}
	return d
}

// quietRegions returns the regions in which no rule has fired at some time since the
// latch was set, sorted, and whether every voting region is among them.
func quietRegions(in DecisionInput) (quiet []string, all bool) {
	quiet, all = slices.Clone(in.Quiet), true
	for _, vote := range in.Votes {
		fires := slices.ContainsFunc(in.Rules, func(r RulePolicy) bool { return slices.Contains(vote.Firing, r.ID) })
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
