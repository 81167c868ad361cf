// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"hash/fnv"
	"time"

	"github.com/google/uuid"
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

// TurnPlan is until when a turn goes on. NextTurnStep makes it, and gets it back with the next
// facts; the zero value is that of a turn that has not begun.
type TurnPlan struct {
	// Revision of the definition with which it was made.
	Revision int64
	// Span is how many slots the turn may cover, at least 1, and Slots how many it covers:
	// fewer where its loop has its phase before.
	Span, Slots int
	// Last is the last of these slots.
	Last time.Time
	// ExtendedTo is when a turn with news ends that goes on in a burst of news, zero for another
	// one. It replaces Last.
	ExtendedTo time.Time
}

// Covers reports whether the turn goes on until a slot, as far as it is planned.
func (p TurnPlan) Covers(slot time.Time) bool {
	return !slot.After(p.Last) || !slot.After(p.ExtendedTo)
}

// planned returns the plan of a turn that may cover up to span slots from the next one on,
// beside those that it has covered. No slot of it is after f.Latest.
func (f *TurnFacts) planned(span int) TurnPlan {
	slots := TurnSlots(f.CheckID, f.Region, f.Next, f.Interval, span)
	if left := f.Latest.Sub(f.Next); left < time.Duration(slots-1)*f.Interval {
		slots = max(1, 1+int(left/f.Interval))
	}
	last := f.Next.Add(time.Duration(slots-1) * f.Interval)
	return TurnPlan{Revision: f.Revision, Span: span, Slots: f.Covered + slots, Last: last}
}

// TurnSpan is what decides how many slots the next turn of a loop may cover.
type TurnSpan struct {
	End TurnEnd // of the turn
	// Covers is how many slots the turn might cover, at least 1.
	Covers int
	// Within: the process is within its budget of turns. It is not asked after a hand-over: the
	// next turn is one of another process.
	Within bool
	// Most is how many slots the budget demands, at least 1, and Reason says why.
	Most   int
	Reason TurnReason
}

// NextTurnSlots returns how many slots the next turn may cover, and why: one after a change,
// twice as many after a turn without one, up to what the budget demands. When the process has
// made more turns than its budget, it is what the budget demands at once, also after a change:
// ten thousand checks that fail together do not multiply the turns.
//
// When the worker stops, or slots are late, the number stays the same.
func NextTurnSlots(s TurnSpan) (int, TurnReason) {
	kept := s.End == TurnHandOver || s.End == TurnLate
	switch {
	case kept && s.Covers != s.Most:
		return s.Covers, TurnKept
	case kept, !s.Within, s.Most == 1:
		return s.Most, s.Reason
	case s.End != TurnCovered:
		return 1, TurnGrowing
	case 2*s.Covers < s.Most:
		return 2 * s.Covers, TurnGrowing
	}
	return s.Most, s.Reason
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
