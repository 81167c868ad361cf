package vigil

import (
	"time"

	"github.com/google/uuid"
)

// Definition is what a worker needs to run a check: the check with its secrets
// in clear, and slot 0 of each of its regions.
type Definition struct {
	Check  Check
	Starts map[string]time.Time // by region key
	// Rules of the check, disabled ones included.
	Rules []Rule
}

// Schedule returns the slots of the definition in a region; false when the
// check is disabled or does not have that region.
func (d *Definition) Schedule(region string) (Schedule, bool) {
	start, ok := d.Starts[region]
	if !ok || !d.Check.Enabled {
		return Schedule{}, false
	}
	return d.Check.Schedule(region, start), true
}

// Tombstone marks a loop that must end because its check, or its region of the
// check, is gone. It stays until the loop has ended.
type Tombstone struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	Region  string
	// Revision of the check at which the loop had to end: one that runs at a newer
	// revision was asked for since. Zero when the check itself is gone, and no loop
	// of it may run.
	Revision  int64
	CreatedAt time.Time
}

// ResultRow is a result on its way into storage.
type ResultRow struct {
	Result Result
	// Worker that probed, as it is known to the leases.
	Worker string
	// Deadline is the longest that a probe of the check may take; a slot is
	// overdue when this much time has passed since it.
	Deadline time.Duration
}

// StoredResult is the row that storage holds for a slot: the caller's own, or the
// one that was there before.
type StoredResult struct {
	Result   Result
	Inserted bool
	// Missed is how many slots before this one the insert found without a
	// result.
	Missed int64
}
