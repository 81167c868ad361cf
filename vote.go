package vigil

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

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
	// Matches say why, one for each of Firing. A vote that an older worker reported
	// or stored has none.
	Matches []Match `json:"matches,omitempty"`
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

// RegionVote is one region of a check.
type RegionVote struct {
	Region string `json:"region"`
	// Voted: Vote is the region's newest; false before its first.
	Voted bool `json:"voted,omitempty"`
	Vote  Vote `json:"vote,omitzero"`
	// Silent: the region is so late that it has no vote.
	Silent bool `json:"silent,omitempty"`
}

// VoteAck says what a vote that was told may change.
type VoteAck struct {
	// Matters: a rule fires, or an incident of the check is open or latched.
	Relevant bool
	OrgID    uuid.UUID
	// CheckName and Target are for people who look at the workflow.
	CheckName, Target string
}

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
		d.Quiet, d.Unlatch = quietRegions(s)
	}
	d.Open = !s.Open && (!s.Latched || d.Unlatch) && len(d.Rules) > 0
	d.Resolve = s.Open && !d.Firing
	if !d.Open {
		d.Rules = nil
	}
	return d
}

// quietRegions returns the regions that have been quiet at some time since the
// latch was set, and whether every voting region is among them.
func quietRegions(s DecisionInput) (quiet []string, all bool) {
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
