package vigil

import (
	"strings"

	"github.com/google/uuid"
)

// CheckFilter selects checks. Zero members select all.
type CheckFilter struct {
	// IDs are the only checks to select, when it is not nil.
	IDs []uuid.UUID
	// Query is a part of the name or the target, in any case.
	Query   string
	Type    CheckType
	Health  Health
	Enabled *bool
	Region  string // key
	Labels  []LabelSelector
}

// Empty reports whether the filter selects all checks.
func (f *CheckFilter) Empty() bool {
	return f.IDs == nil && f.Query == "" && f.Type == "" && f.Health == "" && f.Enabled == nil && f.Region == "" && len(f.Labels) == 0
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
}

// MaxBulk is how many checks one request changes at most.
const MaxBulk = 1000

// CheckEdit is what a change of several checks did to one of them.
type CheckEdit struct {
	Before, After Check // After is zero when the check was deleted
	Changed       bool
	Stopped       []string // regions of a deleted check
}
