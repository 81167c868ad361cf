// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"time"

	"github.com/google/uuid"
)

// Loop is the row of a check in a region: the desired state of its workflow, and a
// summary of its stored results.
type Loop struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	Region  string
	Name    string // of the check
	Target  string // of the check
	// Desired is the revision of the check that the workflow must run, Applied the
	// newest one that Temporal has accepted.
	Desired, Applied int64
	// Active is true when the workflow must run; false for a disabled check.
	Active bool
	// Start of the schedule.
	Start         time.Time
	LastSlot      time.Time // newest slot with a result, manual ones included; zero before
	LastScheduled time.Time // newest slot of the schedule with a result
	NextDue       time.Time // zero for an inactive loop
	Health        Health
	// Unobserved: the loop should run, and its newest result is older than three intervals
	// and its deadline. Its Health is Unknown then.
	Unobserved bool
	Missed     int64 // slots without a result, since creation
	Worker     string
	// TurnSlots is how many slots a turn of the loop covered when LastScheduled was
	// stored; 0 when that is not known.
	TurnSlots int
	// Turn is the turn that goes on after the newest result, zero when none does.
	Turn TurnActivity
	// Generation of Temporal's store when the row was read, 0 before the first one is
	// known. A store that has lost its workflows is replaced by the next generation.
	Generation int64
}

// LoopState is the answer of a loop's workflow to its state query.
type LoopState struct {
	State
	// Revision of the definition that the loop ran last.
	Revision int64 `json:"revision"`
	// Next slot of the loop; zero when it is not known.
	Next time.Time `json:"next,omitzero"`
	// TurnSlots is how many slots the running turn may cover, at least 1; TurnReason says why.
	TurnSlots  int        `json:"turn_slots"`
	TurnReason TurnReason `json:"turn_reason"`
	// Turns of the current workflow run.
	Turns int `json:"turns"`
	// RunID of the workflow that answered.
	RunID string `json:"run_id"`
}

// LoopID returns the ID of the workflow that runs a check in a region.
func LoopID(checkID uuid.UUID, region string) string {
	return "check/" + checkID.String() + "/" + region
}

// RegionQueue returns the task queue of the loops of a region, which the workers of its WorkerRegion
// poll.
func RegionQueue(region string) string { return "region/" + WorkerRegion(region) }

// ControlQueue is the task queue of control workers, which serve no region.
const ControlQueue = "control"

// Tombstone marks a loop that must end because its check was deleted or its region was
// removed from the check. It exists until the loop has ended.
type Tombstone struct {
	CheckID uuid.UUID
	OrgID   uuid.UUID
	Region  string
	// Revision of the check that removed the region; a loop with a newer revision was
	// started after it. Zero when the check was deleted: no loop of it may run.
	Revision  int64
	CreatedAt time.Time
}
