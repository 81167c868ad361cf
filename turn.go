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

// A turn ends with its last slot, and with news before. It ends later in four cases only.
// In each of them Temporal could not begin the next turns in time. In the first three the loops of
// thousands of checks would end their turns at once, only to begin others:
//
//   - the first turn of a loop, where the process has made more turns than its budget;
//   - a turn with news in a burst of news: its vote is reported, and Temporal's time is for the
//     incidents;
//   - a turn whose last slot falls among the ends of hundreds of others;
//   - every turn while Temporal does not answer, unless other rules fire: that vote is for its loop
//     to report first, and the turn that goes on ahead of it decides nothing.
const (
	// newsExtension is how long a turn with news goes on at most, and leastExtension the shortest
	// time that is worth it.
	newsExtension  = time.Minute
	leastExtension = time.Second
	// crowdLimit is how far beyond its last slot a turn may go in a crowd.
	crowdLimit = 6 * time.Second
)

// TurnEnd is the reason why a turn returned.
type TurnEnd string

// The ends of a turn.
const (
	TurnCovered  TurnEnd = "covered"  // all its slots have results, or its next one comes after its timeout
	TurnChanged  TurnEnd = "changed"  // health, the firing rules or the definition changed
	TurnHandOver TurnEnd = "handover" // the worker stops, another one runs the next turn
	TurnLate     TurnEnd = "late"     // its time is over, and not all its slots have results
	TurnGone     TurnEnd = "gone"     // the check does not run in this region any more
)

// TurnAction is what a turn does next.
type TurnAction string

// The actions of a turn.
const (
	// TurnContinue waits until TurnStep.Until, and probes where that is the next slot.
	TurnContinue TurnAction = "continue"
	// TurnReport reports the vote of the state, and asks for the next step again.
	TurnReport TurnAction = "report"
	// TurnStop ends the turn, for the reason TurnStep.End.
	TurnStop TurnAction = "stop"
	// TurnLeave ends what the worker does for the turn, and leaves it open in Temporal: another
	// worker has adopted it, or will.
	TurnLeave TurnAction = "leave"
)

// TurnStep is what a turn does next. Plan is to be given back with the next facts.
type TurnStep struct {
	Action TurnAction
	End    TurnEnd   // of TurnStop
	Until  time.Time // of TurnContinue: the next slot, or when the turn decides again before it
	Plan   TurnPlan
}

// TurnFacts is what a turn knows when it decides what to do next: at its beginning, after each
// result, and when something interrupts its wait.
type TurnFacts struct {
	CheckID  uuid.UUID
	Region   string
	Interval time.Duration // of the definition
	// Revision is that of the definition, and Known the newest one that the loop knows. A newer
	// definition is for the loop to hear of: it may have planned by another interval.
	Revision, Known int64

	// Now is the time by the clock of the worker, and Next the slot that is to be probed next:
	// it is due when it is not after Now.
	Now, Next time.Time
	// Latest is the time after which the turn begins no slot. It leaves time for the longest
	// probe before Temporal gives the turn up.
	Latest time.Time

	// Plan is that of the last step, zero before the first one. Span is how many slots the
	// turn before has planned for this one, at least 1, within the window.
	Plan TurnPlan
	Span int
	// Covered is how many slots the turn has covered: those with a result, and those in
	// maintenance that pauses probing.
	Covered int

	// New: the loop had no state when the turn began.
	New bool
	// Adopted: another worker began the turn, and died. With which state is not known.
	Adopted bool
	// Behind: the loop has to continue from what the turn has found, before another probe.
	// There are stored results that the state does not include, or the loop may not know the
	// newest vote.
	Behind bool

	// Before is the health before the newest result, and Health the one after it; both are
	// equal where there was no result since the last step. Before is empty when the newest result is
	// the first one of its check.
	Before, Health Health
	// Fires: other rules fire than in the newest vote that was reported.
	Fires bool
	// Reported: the turn knows that the vote of the state is stored and signaled.
	Reported bool
	// ReportFailed: the turn could not report a vote. Its loop does, until it succeeds.
	ReportFailed bool

	// EverySlot: the process has no budget of turns, each slot has one.
	EverySlot bool
	// BeyondBudget: the process has made more turns than its budget. Most is how many slots a
	// turn covers by the budget, at least 1.
	BeyondBudget bool
	Most         int
	// Burst: many turns of the process have news at the moment.
	Burst bool
	// Crowded: turns of the process end faster than Temporal begins others, and the machine
	// keeps up with its slots. Where it does not, time is Temporal's, for new loops wait for it.
	Crowded bool

	// Away: Temporal does not answer, so that no other turn could begin. Ahead: it has not taken the
	// end of a turn of the loop before, and this one goes on in the place of the next one.
	Away, Ahead bool

	// Gone: the check does not run in the region any more.
	Gone bool
	// OutOfTime: the wait for a place among the probes took until the timeout of the turn.
	OutOfTime bool
	// Stopping: the worker stops. Revoked: its lease was, and is a new one. Named: the row of
	// the loop names the turn, so that another worker can adopt it. Taken: one may have.
	Stopping, Revoked, Named, Taken bool
}

// NextTurnStep decides what a turn does next. It is a pure function: the activity gathers the
// facts, does what it says, and nothing else.
func NextTurnStep(f TurnFacts) TurnStep {
	switch {
	case f.Gone:
		return f.stop(TurnGone)
	case f.Taken, f.Stopping && f.Named:
		return TurnStep{Action: TurnLeave, Plan: f.Plan}
	case f.Revoked, f.Stopping:
		return f.stop(TurnHandOver)
	case f.OutOfTime:
		return f.stop(TurnLate)
	case f.Behind, f.ReportFailed:
		return f.stop(TurnChanged)
	case f.Adopted && f.Revision > f.Known:
		return f.stop(TurnChanged)
	case f.Ahead && !f.Away && !f.hasNews() && (f.Covered > 0 || f.Next.After(f.Now)):
		return f.stop(TurnCovered)
	case f.Covered == 0:
		f.Plan = f.planned(f.span())
		return f.goOn()
	case f.Revision > f.Plan.Revision:
		return f.stop(TurnChanged)
	case !f.Plan.ExtendedTo.IsZero():
		return f.extended()
	case f.Away && !f.Fires && f.Revision <= f.Known:
		return f.goOn()
	case f.widens():
		if !f.Reported {
			return TurnStep{Action: TurnReport, Plan: f.Plan}
		}
		f.Plan = f.planned(f.Most)
		return f.goOn()
	case f.hasNews():
		return f.news()
	case f.Next.After(f.Plan.Last):
		return f.last()
	}
	return f.goOn()
}

// hasNews reports whether the newest result has news for the workflow of the loop.
func (f *TurnFacts) hasNews() bool { return f.Fires || f.Health != f.Before }

func (f *TurnFacts) stop(end TurnEnd) TurnStep {
	return TurnStep{Action: TurnStop, End: end, Plan: f.Plan}
}

// span is how many slots the turn may cover: one with a definition that is newer than the plan
// of the turn before, whose slots may differ.
func (f *TurnFacts) span() int {
	if f.EverySlot || f.Revision > f.Known {
		return 1
	}
	return max(1, f.Span)
}

// goOn waits for the next slot, but not beyond the end of the turn. A slot may be days away:
// then the turn ends at its latest time, and the next one waits on.
func (f *TurnFacts) goOn() TurnStep {
	until := earliest(f.Next, f.Latest)
	if !f.Plan.ExtendedTo.IsZero() {
		until = earliest(until, f.Plan.ExtendedTo)
	}
	switch {
	case f.Now.Before(f.Latest):
		return TurnStep{Action: TurnContinue, Until: until, Plan: f.Plan}
	case f.Next.After(f.Now):
		return f.stop(TurnCovered)
	}
	return f.stop(TurnLate)
}

// widens reports whether the first turn of a loop goes on after a first result that is no news
// for anybody but its loop, as wide as the budget demands.
func (f *TurnFacts) widens() bool {
	calm := f.Health == Healthy && f.Before != Unhealthy && !f.Fires
	return f.New && f.Covered == 1 && calm && !f.Adopted && f.Revision <= f.Known && f.BeyondBudget && f.Most > 1
}

// news decides about a turn that has news. It ends at once, which is three state transitions,
// and in a burst of news somewhat later. That a check is healthy at first is no news, and an
// adopted turn does not know with which state it began.
func (f *TurnFacts) news() TurnStep {
	extended := earliest(f.Now.Add(newsExtension), f.Latest)
	if !f.Burst || f.Before == "" || f.Adopted || f.EverySlot || f.Revision > f.Known || extended.Sub(f.Now) < leastExtension {
		return f.stop(TurnChanged)
	}
	f.Plan.ExtendedTo = extended
	return f.extended()
}

// extended goes on with a turn that has news, and reports each vote at once.
func (f *TurnFacts) extended() TurnStep {
	switch {
	case !f.Now.Before(f.Plan.ExtendedTo):
		return f.stop(TurnChanged)
	case f.Fires:
		return TurnStep{Action: TurnReport, Plan: f.Plan}
	}
	return f.goOn()
}

// last decides about a turn that has no slot left. In a crowd it covers some more, instead of
// a wait for its next turn in which it would miss them.
func (f *TurnFacts) last() TurnStep {
	switch {
	case f.Covered < f.Plan.Slots:
		return f.stop(TurnLate)
	case f.Crowded && !f.EverySlot && f.Revision <= f.Known && !f.Next.After(earliest(f.Plan.Last.Add(crowdLimit), f.Latest)):
		return f.goOn()
	}
	return f.stop(TurnCovered)
}

// earliest returns the earlier one of two instants.
func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
