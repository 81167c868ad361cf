// SPDX-License-Identifier: Apache-2.0

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
	// Matches say why, one for each of Firing.
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

// UnobservedCheck is a check that is not probed although it should be: in each of the regions
// the newest result is older than three intervals and the deadline of a probe.
type UnobservedCheck struct {
	ID      uuid.UUID // of this time without results
	OrgID   uuid.UUID
	CheckID uuid.UUID
	// Since is the time of the newest result, or when the first one was due.
	Since   time.Time
	Regions []string // keys
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
	// Open is true while an incident is open. Incident is what is known of it.
	Open     bool
	Incident *IncidentHead
	// Latched is true while an incident that a user resolved is latched; Quiet are the
	// regions that have been quiet since, sorted, and LatchedRules the rules that open no other
	// incident until then, sorted; none: all.
	Latched      bool
	Quiet        []string
	LatchedRules []uuid.UUID
	// InMaintenance is true while the check is in maintenance: no incident opens, and no
	// rule begins to fire in one that is open. Everything else is as outside of it.
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
	// Begun are the rules that begin to fire in the incident that stays open: their region
	// policies are met. Ended are those of its rules that fire in no voting region any more.
	Begun, Ended []uuid.UUID
	// Quiet are the regions that have been quiet since the latch was set, sorted, and LatchedRules
	// the rules that are still latched. Unlatch is true when these are all voting regions, or
	// no rule is latched any more.
	Quiet        []string
	LatchedRules []uuid.UUID
	Unlatch      bool
	// Firing is true when a rule fires in a voting region.
	Firing bool
}

// Decide applies the region policies to the votes (spec section 3). Without votes of
// an enabled check it changes nothing.
func Decide(in DecisionInput) Decision {
	d := Decision{Quiet: in.Quiet, LatchedRules: in.LatchedRules}
	if !in.Enabled {
		d.Remove, d.Unlatch = in.Open, in.Latched
		return d
	}
	if len(in.Votes) == 0 {
		return d
	}
	if in.Latched {
		d.latch(&in)
	}
	latched := in.Latched && !d.Unlatch
	wrong := false // a rule fires that is not latched
	for _, rule := range in.Rules {
		n := in.firingIn(rule.ID)
		d.Firing = d.Firing || n > 0
		if latched && slices.Contains(d.LatchedRules, rule.ID) {
			continue
		}
		wrong = wrong || n > 0
		if rule.Policy.Met(n, len(in.Votes)) {
			d.Rules = append(d.Rules, rule.ID)
		}
	}
	d.Open = !in.Open && !in.InMaintenance && len(d.Rules) > 0 && (!latched || len(d.LatchedRules) > 0)
	d.Resolve = in.Open && !wrong
	if in.Open && !d.Resolve && in.Incident != nil && len(in.Incident.Rules) > 0 {
		d.change(&in)
	}
	if !d.Open {
		d.Rules = nil
	}
	return d
}

// firingIn returns in how many voting regions a rule fires.
func (in *DecisionInput) firingIn(rule uuid.UUID) int {
	n := 0
	for _, vote := range in.Votes {
		if slices.Contains(vote.Firing, rule) {
			n++
		}
	}
	return n
}

// change compares the rules whose policies are met with those of the open incident.
func (d *Decision) change(in *DecisionInput) {
	firing := in.Incident.FiringNow()
	for _, rule := range d.Rules {
		if !in.InMaintenance && !slices.Contains(firing, rule) {
			d.Begun = append(d.Begun, rule)
		}
	}
	for _, rule := range firing {
		enabled := slices.ContainsFunc(in.Rules, func(r RulePolicy) bool { return r.ID == rule })
		if !enabled || in.firingIn(rule) == 0 {
			d.Ended = append(d.Ended, rule)
		}
	}
}

// latch decides what is still latched: the regions in which no latched rule has fired at
// some time since it was set are quiet. It ends with the last rule and when every voting
// region is quiet.
func (d *Decision) latch(in *DecisionInput) {
	latched := func(rule uuid.UUID) bool { return len(in.LatchedRules) == 0 || slices.Contains(in.LatchedRules, rule) }
	quiet, all := slices.Clone(in.Quiet), true
	for _, vote := range in.Votes {
		fires := slices.ContainsFunc(in.Rules, func(r RulePolicy) bool { return latched(r.ID) && slices.Contains(vote.Firing, r.ID) })
		switch {
		case slices.Contains(quiet, vote.Region):
		case fires:
			all = false
		default:
			quiet = append(quiet, vote.Region)
		}
	}
	slices.Sort(quiet)
	d.Quiet, d.Unlatch = quiet, all
	d.LatchedRules = slices.DeleteFunc(slices.Clone(in.LatchedRules), func(rule uuid.UUID) bool {
		enabled := slices.ContainsFunc(in.Rules, func(r RulePolicy) bool { return r.ID == rule })
		return !enabled || in.firingIn(rule) == 0
	})
	d.Unlatch = d.Unlatch || len(in.LatchedRules) > 0 && len(d.LatchedRules) == 0
}
