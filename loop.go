package vigil

import (
	"time"

	"github.com/google/uuid"
)

// Loop is the stored side of one check in one region: the desired state that
// its workflow follows, and where the stored results of that region stand.
type Loop struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	Region  string
	Name    string // of the check
	Target  string // of the check
	// Desired is the check's revision that the loop should know, Applied the
	// newest one that Temporal has durably accepted.
	Desired, Applied int64
	// Active: a loop should run. False for a disabled check.
	Active bool
	// Start is slot 0: the instant from which the region is due.
	Start         time.Time
	LastSlot      time.Time // newest slot with a result of any kind; zero before
	LastScheduled time.Time // newest slot of the schedule with a result
	NextDue       time.Time // zero while nothing is due
	Health        Health
	Missed        int64 // slots that passed without a result, since creation
	Worker        string
}

// LoopState is what a running loop says of itself when asked.
type LoopState struct {
	State
	// Revision of the definition that the loop last worked with.
	Revision int64 `json:"revision"`
	// Next is the slot that the loop waits for.
	Next time.Time `json:"next,omitzero"`
	// Turns since the workflow's run began.
	Turns int `json:"turns"`
	// RunID of the workflow that answered.
	RunID string `json:"run_id"`
}

// LoopID is the id of the workflow that runs a check in a region.
func LoopID(checkID uuid.UUID, region string) string {
	return "check/" + checkID.String() + "/" + region
}

// RegionQueue is the task queue that the workers of a region poll.
func RegionQueue(region string) string { return "region/" + region }

// ControlQueue is the task queue of the workers that serve no region.
const ControlQueue = "control"

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
