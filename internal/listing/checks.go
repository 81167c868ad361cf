// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// CheckFilter selects checks. Zero members select all.
type CheckFilter struct {
	// IDs are the only checks to select, when it is not nil.
	IDs []uuid.UUID
	// Query is a part of the name, the target, a label as key=value or the error of the newest result
	// of a region that fails, in any case. What it says is text: no character stands for others.
	Query string
	// Places are the regions that Query names; checks that run in one of them match it, too.
	Places  []string
	Type    vigil.CheckType
	Health  vigil.Health
	State   CheckState
	Enabled *bool
	Region  string // key
	Labels  []vigil.LabelSelector
	// Unlabeled are keys of labels that a check does not have.
	Unlabeled []string
	Managed   ManagedFilter
}

// Empty reports whether the filter selects all checks.
func (f *CheckFilter) Empty() bool {
	return f.IDs == nil && f.Query == "" && f.Type == "" && f.Health == "" && f.State == "" && f.Enabled == nil && f.Region == "" &&
		len(f.Labels) == 0 && len(f.Unlabeled) == 0 && f.Managed == (ManagedFilter{})
}

// CheckList selects a page of the checks that a filter selects.
type CheckList struct {
	CheckFilter
	Sort CheckSort
	Page
}

// CheckSort is the order of a list of checks. A minus reverses it.
type CheckSort string

// Orders of checks. Names are compared without their case. The default is SortNewest.
const (
	SortNewest      CheckSort = "-created_at"
	SortOldest      CheckSort = "created_at"
	SortName        CheckSort = "name"
	SortNameDown    CheckSort = "-name"
	SortUpdated     CheckSort = "updated_at"
	SortUpdatedDown CheckSort = "-updated_at"
	// SortState puts what needs attention first: checks that are failing or have a warning, by the
	// severity of their open incident (critical, warning, info, none) and the newest incident first,
	// then those without a recent result, the other enabled ones and the disabled ones, each by name.
	SortState     CheckSort = "state"
	SortStateDown CheckSort = "-state"
	// SortType sorts by type, and by name within a type.
	SortType     CheckSort = "type"
	SortTypeDown CheckSort = "-type"
	// SortInterval sorts by the interval, and by name among equal ones.
	SortInterval     CheckSort = "interval_seconds"
	SortIntervalDown CheckSort = "-interval_seconds"
)

// Orders by a figure of each check, as Figure has them. A check without the figure is last in both
// directions. The figures of all checks of the list are read for a page, so these orders are for lists
// of up to MaxTotal checks.
const (
	SortUptime      CheckSort = "uptime_24h" // of the last 24 hours
	SortUptimeDown  CheckSort = "-uptime_24h"
	SortP95         CheckSort = "p95_ms" // of the newest 60 slots
	SortP95Down     CheckSort = "-p95_ms"
	SortRegions     CheckSort = "regions" // the share of them that passes
	SortRegionsDown CheckSort = "-regions"
	SortSeen        CheckSort = "last_checked"
	SortSeenDown    CheckSort = "-last_checked"
)

// Figure reports whether the order is by a figure, which is no member of the definition.
func (s CheckSort) Figure() bool {
	column, _ := s.Column()
	return slices.Contains([]CheckSort{SortUptime, SortP95, SortRegions, SortSeen}, CheckSort(column))
}

// Column returns the member that the list is sorted by, and whether it descends.
func (s CheckSort) Column() (column string, descending bool) {
	if s == "" {
		s = SortNewest
	}
	return strings.CutPrefix(string(s), "-")
}

// CheckCounts are the numbers of checks by state. A disabled check counts as disabled only.
type CheckCounts struct {
	Healthy, Unhealthy, Unknown, Disabled int64
	// Failing, Warning and Passing count by CheckState. Unknown and Disabled are states, too.
	Failing, Warning, Passing int64
}

// CheckGroup are the checks that have one value of a label.
type CheckGroup struct {
	Value   string
	Labeled bool // false for the checks without the label, whose Value is empty
	Total   int64
	// The others count by CheckState.
	Failing, Warning, Passing, Unknown, Disabled int64
}

// LabelKey is the key of a label, and how many checks have it.
type LabelKey struct {
	Key    string
	Checks int64
}

// Bounds of what a list says of the labels of its checks.
const (
	MaxGroups    = 1000 // values of a label
	MaxLabelKeys = 100
)

// CheckState is what a list of checks says of each: its health over all regions, and
// whether an incident is open.
type CheckState string

// States of checks.
const (
	StateFailing  CheckState = "failing"  // the newest result of some region failed
	StateWarning  CheckState = "warning"  // every newest result passed, and an incident is open
	StatePassing  CheckState = "passing"  // every newest result passed
	StateUnknown  CheckState = "unknown"  // no region has a recent result
	StateDisabled CheckState = "disabled" // it does not run
)
