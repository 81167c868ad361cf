// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// CheckFilter selects checks. Zero members select all.
type CheckFilter struct {
	// IDs are the only checks to select, when it is not nil.
	IDs []uuid.UUID
	// Query is a part of the name or the target, in any case.
	Query   string
	Type    vigil.CheckType
	Health  vigil.Health
	State   CheckState
	Enabled *bool
	Region  string // key
	Labels  []vigil.LabelSelector
	Managed ManagedFilter
}

// Empty reports whether the filter selects all checks.
func (f *CheckFilter) Empty() bool {
	return f.IDs == nil && f.Query == "" && f.Type == "" && f.Health == "" && f.State == "" && f.Enabled == nil && f.Region == "" &&
		len(f.Labels) == 0 && f.Managed == (ManagedFilter{})
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
	// SortState puts what needs attention first: failing checks, then those with a
	// warning, those without a recent result, the other enabled ones and the disabled ones,
	// each by name.
	SortState CheckSort = "state"
	// SortType sorts by type, and by name within a type.
	SortType CheckSort = "type"
)

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
