// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Severity is the importance of an incident (spec section 2). It has no influence on
// whether a rule fires.
type Severity string

// Severities, most severe first. The default is critical.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Rank orders severities; the most severe is lowest.
func (s Severity) Rank() int {
	switch s {
	case Critical:
		return 0
	case Warning:
		return 1
	case Info:
		return 2
	}
	return 3
}

// NotifyOn selects the events of an incident that a rule's channels receive.
type NotifyOn string

// Values of notify_on (spec section 2, AlertRule).
const (
	NotifyUnhealthy NotifyOn = "unhealthy" // the default: the incident opens
	NotifyHealthy   NotifyOn = "healthy"   // the incident ends, however it does
	NotifyBoth      NotifyOn = "both"
)

// Valid reports whether n is one of the values.
func (n NotifyOn) Valid() bool {
	return n == NotifyUnhealthy || n == NotifyHealthy || n == NotifyBoth
}

// Opening reports whether the channels receive the opening of an incident.
func (n NotifyOn) Opening() bool { return n == NotifyUnhealthy || n == NotifyBoth }

// Recovery reports whether the channels receive its automatic resolution.
func (n NotifyOn) Recovery() bool { return n == NotifyHealthy || n == NotifyBoth }

// RegionPolicy is the share of the voting regions in which a rule must fire to open
// an incident (spec section 3).
type RegionPolicy string

// Region policies.
const (
	AnyRegion   RegionPolicy = "any"      // the default: one is enough
	MostRegions RegionPolicy = "majority" // more than half
	AllRegions  RegionPolicy = "all"
)

// Valid reports whether p is one of the policies.
func (p RegionPolicy) Valid() bool { return p == AnyRegion || p == MostRegions || p == AllRegions }

// Met reports whether a rule that fires in firing of voting regions satisfies the
// policy. Without votes no policy is met.
func (p RegionPolicy) Met(firing, voting int) bool {
	switch p {
	case MostRegions:
		return 2*firing > voting
	case AllRegions:
		return firing > 0 && firing == voting
	case AnyRegion:
	}
	return firing > 0
}

// OnUnobserved says what an alert rule does when its check is not probed although it should be.
type OnUnobserved string

// Values of unobserved of a rule.
const (
	UnobservedIgnore OnUnobserved = "ignore" // the default: nothing
	UnobservedNotify OnUnobserved = "notify" // its channels get the beginning and the end
)

// Valid reports whether o is one of the values.
func (o OnUnobserved) Valid() bool { return o == UnobservedIgnore || o == UnobservedNotify }

// Rule is an alert rule of a check: when to open an incident, and which channels to
// notify (spec section 2, AlertRule).
type Rule struct {
	ID        uuid.UUID
	OrgID     uuid.UUID
	CheckID   uuid.UUID
	Name      string
	Condition Condition
	// Channels are the ids of the notification channels, at least one.
	Channels []uuid.UUID
	NotifyOn NotifyOn
	// NotifyIfOpen: when the rule begins to fire while an incident of the check is open, its
	// channels that have had no message of the incident get its opening.
	NotifyIfOpen bool `json:",omitempty"`
	Policy       RegionPolicy
	// Unobserved says whether the channels are notified when the check is not probed in as many
	// regions as Policy asks for; empty is UnobservedIgnore.
	Unobserved OnUnobserved `json:",omitempty"`
	Enabled    bool
	Labels     Labels `json:",omitempty"`
	// Version increases by one with every change of the rule. At least 1 in storage.
	Version int64 `json:",omitempty"`
	// ManagedBy is what manages the rule; nil: nothing does.
	ManagedBy *ManagedBy `json:"-"`
	// AppliedVersion is the version that apply stored last; 0: none. A later Version was
	// made by somebody else.
	AppliedVersion int64 `json:"-"`

	CreatedAt time.Time
	UpdatedAt time.Time
	// Warnings are what a write of the rule should make its author think of.
	Warnings []string `json:",omitempty"`
}

// NotifiesUnobserved reports whether the channels are notified when the check is not probed.
func (r *Rule) NotifiesUnobserved() bool { return r.Enabled && r.Unobserved == UnobservedNotify }

// Severity of the incidents that the rule opens.
func (r *Rule) Severity() Severity {
	if r.Condition.Severity == "" {
		return Critical
	}
	return r.Condition.Severity
}

// SortRules puts the leading rule first: by severity, then age, then ID.
func SortRules(rules []Rule) {
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(
			cmp.Compare(a.Severity().Rank(), b.Severity().Rank()), a.CreatedAt.Compare(b.CreatedAt), CompareIDs(a.ID, b.ID),
		)
	})
}

// CompareIDs orders ids by their bytes, as Postgres does.
func CompareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// RebuildResults returns how many of the newest results of a region must be evaluated to
// know which of the rules fire, at least 2: for each rule its failure threshold before the
// oldest result by which it can fire yet, and one more. Those of its window, where it has one, come
// every interval; 0 leaves windows out, whose counts are read otherwise.
func RebuildResults(rules []Rule, interval time.Duration) int {
	most := 1
	for _, rule := range rules {
		counted := max(1, rule.Condition.FailureThreshold)
		if b := rule.Condition.BurnRate; b != nil && interval > 0 {
			counted = max(counted, int(time.Duration(b.Window)*time.Second/interval)+1)
		}
		most = max(most, counted+max(1, rule.Condition.RecoveryThreshold)-1)
	}
	return most + 1
}
