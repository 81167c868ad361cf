// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"hash/fnv"
	"time"

	"github.com/google/uuid"
)

// TurnReason says why the turns of a loop cover the number of slots that they do.
type TurnReason string

// The reasons of a number of slots. See docs/operations.md.
const (
	// TurnEverySlot: the worker has turns for every slot of its loops.
	TurnEverySlot TurnReason = "every_slot"
	// TurnGrowing: the loop is new, or its health, its rules or its definition changed.
	// It begins with one slot and doubles with every turn without a change.
	TurnGrowing TurnReason = "growing"
	// TurnBudget: as many slots as keep the worker within its budget of turns.
	TurnBudget TurnReason = "budget"
	// TurnWindow: as many slots as fit into the longest time that a turn may cover.
	TurnWindow TurnReason = "window"
	// TurnKept: the turn before was lost or interrupted, and this one keeps its number.
	TurnKept TurnReason = "kept"
)

// TurnActivity identifies the activity of a running turn in Temporal: every worker that knows it
// can complete it.
type TurnActivity struct {
	RunID      uuid.UUID // of the loop's workflow
	ActivityID string
	Ends       time.Time // when Temporal gives the turn up
}

// TurnHolder says who has the turn of a loop, as Temporal knows it.
type TurnHolder struct {
	Running bool   // the workflow of the loop
	Worker  string // that Temporal gave the turn to; empty while none has it
	// ActivityID and RunID name the turn.
	ActivityID string
	RunID      uuid.UUID
}

// Runs returns the worker that runs the turn of a loop: the one that Temporal gave it to, or the
// one that has adopted it. Empty: none has it yet.
func (h TurnHolder) Runs(loop *Loop) string {
	if h.Worker != "" && h.ActivityID == loop.Turn.ActivityID && h.RunID == loop.Turn.RunID {
		return loop.Worker
	}
	return h.Worker
}

// OpenTurn is a turn that Temporal waits for and whose worker is gone.
type OpenTurn struct {
	TurnActivity

	CheckID uuid.UUID
	Region  string
	// Revision of the check that Temporal has accepted for the loop.
	Revision int64
	Slots    int // that the turn covers, 0 when that is not known
}

// TurnSlots returns how many slots a turn covers that may cover up to span of them, at
// least 1, when the first of them is at first.
//
// Every loop has its own phase in a cycle of span intervals, and its turns end there. So
// the turns of loops that all began together, as after a restart of their worker, end at
// different times: after one shorter turn each of them covers span slots again.
func TurnSlots(checkID uuid.UUID, region string, first time.Time, interval time.Duration, span int) int {
	if span <= 1 {
		return 1
	}
	cycle := int64(span) * interval.Milliseconds()
	left := cycle - (first.UnixMilli()+turnPhase(checkID, region)%cycle)%cycle
	return int((left + interval.Milliseconds() - 1) / interval.Milliseconds())
}

// turnPhase is a number below 2^48 that depends on the loop only.
func turnPhase(checkID uuid.UUID, region string) int64 {
	h := fnv.New64a()
	h.Write([]byte(region))
	h.Write(checkID[:])
	return int64(h.Sum64() >> 16) // below 2^48
}
