// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
)

// extension is how far beyond its planned end a turn may go while Temporal is busy.
const extension = 6 * time.Second

// count counts the loop in the budget, at its present interval.
func (t *turnRun) count(interval time.Duration) {
	if t.counted != interval {
		t.counted = interval
		t.budget.run(t.lock.key, interval, t.Now())
	}
}

// plan sets how many slots the turn covers and the last of them. That is not later than
// the timeout of its activity allows: a turn that covered a number of results instead
// would overrun that timeout when slots are late.
func (t *turnRun) plan(e *entry, schedule vigil.Schedule, first time.Time) {
	t.most = t.span(e, schedule)
	t.slots = vigil.TurnSlots(t.turn.CheckID, t.turn.Region, first, schedule.Interval, t.most)
	t.until = first.Add(time.Duration(t.slots-1) * schedule.Interval)
	if latest := t.latestSlot(e); latest.Before(t.until) {
		t.until = latest
	}
}

// latestSlot is the latest slot that the timeout of the activity allows.
func (t *turnRun) latestSlot(e *entry) time.Time { return t.call.Ends.Add(-e.deadline() - lastSlot) }

// complete reports whether the turn has covered its slots. One that was held ends by its time.
func (t *turnRun) complete(e *entry, schedule vigil.Schedule) bool {
	return t.held.IsZero() && t.covered > 0 && t.covered >= min(t.slots, t.span(e, schedule))+t.extra
}

// goOn lets the first turn of a loop go on after its first result, as wide as the budget
// demands, when the process has made more turns than its budget: of the many loops that
// start then, each would end its turn only to begin another. The first result of a healthy
// check is no news for anybody but its loop.
func (t *turnRun) goOn(ctx context.Context, before vigil.Health, e *entry, schedule vigil.Schedule) bool {
	calm := t.state.Health == vigil.Healthy && before != vigil.Unhealthy && !t.firingChanged()
	if !calm || t.adoption || t.wide > 0 || !t.turn.State.Slot.IsZero() || e.Check.Revision > t.turn.Revision || t.budget.left(t.Now()) {
		return false
	}
	most, _ := t.budget.most(t.Now(), schedule.Interval, t.QuietWindow)
	if most == 1 || !t.saveCalmVote(ctx, e.Check.Revision) {
		return false
	}
	t.wide, t.covered = most, 0 // the next slot plans the turn again
	return true
}

// extend lets a turn cover one more slot when it would end among hundreds of others, within
// extension of its planned end. Without it the loop of a healthy check waits behind loops
// with news until the server has time for it, and misses slots meanwhile. It is for a burst
// on a machine that keeps up: where slots are late, the time is Temporal's, which new loops
// wait for.
func (t *turnRun) extend(e *entry, schedule vigil.Schedule) bool {
	now := t.Now()
	if t.TurnRate == 0 || t.turn.Revision != e.Check.Revision || !t.gaps.crowded(now) || !t.lateness.punctual(now) {
		return false
	}
	next := schedule.Next(t.state.Slot)
	if t.extra == 0 {
		t.last = t.state.Slot
	}
	if next.After(t.last.Add(extension)) || next.After(t.latestSlot(e)) {
		return false
	}
	t.extra++
	t.until = next
	return true
}

// span is how many slots the turn may cover with a definition. With a definition that is
// newer than the plan of the turn it is one: at a longer interval more slots could exceed
// the timeout of the activity. Otherwise the plan counts, and not what the budget of this
// process demands now: a worker that has just started does not know its loops yet.
func (t *turnRun) span(e *entry, schedule vigil.Schedule) int {
	if t.TurnRate == 0 || e.Check.Revision > t.turn.Revision {
		return 1
	}
	return max(1, min(t.planned(), int(t.QuietWindow/schedule.Interval)))
}

// planned is how many slots the turn was planned for.
func (t *turnRun) planned() int { return max(t.turn.Span, t.wide) }

// end returns the result of the turn and plans the next one.
func (t *turnRun) end(reason End, e *entry, schedule vigil.Schedule) *TurnResult {
	out := &TurnResult{
		End: reason, State: t.state, Revision: e.Check.Revision, Span: 1, Deadline: e.deadline(),
		By: t.shortName, Behind: t.behind,
	}
	if !t.adoption {
		out.Restored = max(t.turn.Restored, t.restored)
	}
	if t.turn.Reset && t.compared {
		out.Run = t.call.run
	}
	if reason == Gone {
		return out
	}
	began := t.turn.State.Slot.Before(schedule.Start) && !t.state.Slot.Before(schedule.Start)
	out.Restarted = t.again || began && !t.voted
	out.Span, out.Reason = t.nextSpan(reason, e, schedule)
	out.Next = schedule.Due(t.state.Slot, t.Now())
	out.Until = out.Next.Add(time.Duration(out.Span-1) * schedule.Interval)
	return out
}

// ShownName is the part of a TurnResult about the name that the loop's workflow shows.
type ShownName struct {
	// Name of the check, where workflows show it: after a turn that recovers, the first one
	// of a worker, and one with a newer revision than the loop knew. Otherwise the loop
	// knows the name.
	Name string `json:"name,omitempty"`
	// Nameless: workflows must not show the name of the check.
	Nameless bool `json:"nameless,omitempty"`
}

// nameIn adds the name of the check to a result, when the loop may not know it.
func (t *turnRun) nameIn(ctx context.Context, result *TurnResult) {
	if result == nil || result.End == Gone || !t.turn.Recover && t.turn.By == t.shortName && result.Revision <= t.turn.Revision {
		return
	}
	if result.Nameless = t.ShowNames == nil; result.Nameless || !t.ShowNames(ctx) {
		return
	}
	if e, err := t.definition(ctx); err == nil && !e.deleted {
		result.Name = e.Check.Name
	}
}

// nextSpan returns how many slots the next turn may cover, and why: one after a change,
// twice as many after a turn without one, up to what the budget demands. When the process
// has made more turns than its budget, it is what the budget demands at once, also after a
// change: ten thousand checks that fail together do not multiply the turns.
//
// When the worker stops, or slots are late, the span stays the same.
func (t *turnRun) nextSpan(end End, e *entry, schedule vigil.Schedule) (int, vigil.TurnReason) {
	now := t.Now()
	most, reason := t.budget.most(now, schedule.Interval, t.QuietWindow)
	if end == HandOver { // the next turn is one of another process
		return kept(t.span(e, schedule), most, reason)
	}
	within := t.budget.take(now)
	switch {
	case end == Late:
		return kept(t.span(e, schedule), most, reason)
	case !within || most == 1:
		return most, reason
	case end != Covered:
		return 1, vigil.TurnGrowing
	case 2*t.planned() < most:
		return 2 * t.planned(), vigil.TurnGrowing
	}
	return most, reason
}

// kept returns a span that stays as it was, and why.
func kept(span, most int, reason vigil.TurnReason) (int, vigil.TurnReason) {
	if span != most {
		reason = vigil.TurnKept
	}
	return span, reason
}
