package vigil

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Severity says how much an incident matters (spec section 2). It never decides
// whether a rule fires.
type Severity string

// The severities, gravest first. A rule without one is critical.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// rank orders severities, the gravest lowest.
func (s Severity) rank() int {
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

// NotifyOn says which turns of an incident a rule's channels hear of.
type NotifyOn string

// The values of notify_on (spec section 2, AlertRule).
const (
	NotifyUnhealthy NotifyOn = "unhealthy" // the default: when it opens
	NotifyHealthy   NotifyOn = "healthy"   // when it resolves by itself
	NotifyBoth      NotifyOn = "both"
)

// Valid reports whether n is one of the values.
func (n NotifyOn) Valid() bool {
	return n == NotifyUnhealthy || n == NotifyHealthy || n == NotifyBoth
}

// Opening reports whether the channels hear of an incident that opens.
func (n NotifyOn) Opening() bool { return n == NotifyUnhealthy || n == NotifyBoth }

// Recovery reports whether the channels hear of one that resolves.
func (n NotifyOn) Recovery() bool { return n == NotifyHealthy || n == NotifyBoth }

// RegionPolicy says in how many of the regions that have a vote a rule must
// fire to open an incident.
type RegionPolicy string

// The region policies.
const (
	AnyRegion   RegionPolicy = "any"      // the default: one is enough
	MostRegions RegionPolicy = "majority" // more than half
	AllRegions  RegionPolicy = "all"
)

// Valid reports whether p is one of the policies.
func (p RegionPolicy) Valid() bool { return p == AnyRegion || p == MostRegions || p == AllRegions }

// Met reports whether a rule that fires in some of the voting regions satisfies
// the policy. Without a vote none is met.
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

// Rule is an alert rule of a check: when to open an incident, and whom to tell
// (spec section 2, AlertRule).
type Rule struct {
	ID        uuid.UUID
	OrgID     uuid.UUID
	CheckID   uuid.UUID
	Name      string
	Condition Condition
	// Channels are the ids of the notification channels, at least one.
	Channels []uuid.UUID
	NotifyOn NotifyOn
	Policy   RegionPolicy
	Enabled  bool

	CreatedAt time.Time
	UpdatedAt time.Time
}

// Severity of the incidents that the rule opens.
func (r *Rule) Severity() Severity {
	if r.Condition.Severity == "" {
		return Critical
	}
	return r.Condition.Severity
}

// SortRules puts the rule that names an incident first: the gravest, then the
// oldest, then the one with the smallest id.
func SortRules(rules []Rule) {
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(
			cmp.Compare(a.Severity().rank(), b.Severity().rank()),
			a.CreatedAt.Compare(b.CreatedAt),
			CompareIDs(a.ID, b.ID),
		)
	})
}

// CompareIDs orders ids by their bytes, as Postgres does.
func CompareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// MaxThreshold is the longest row of failures that any of the rules counts,
// at least 1: a state is rebuilt from so many results and one more.
func MaxThreshold(rules []Rule) int {
	deepest := 1
	for _, rule := range rules {
		deepest = max(deepest, rule.Condition.FailureThreshold)
	}
	return deepest
}
