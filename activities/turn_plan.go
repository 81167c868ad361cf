package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"vigil"
)

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
func (t *turnRun) plan(ctx context.Context, e *entry, schedule vigil.Schedule, first time.Time) {
	t.most = t.span(e, schedule)
	t.slots = vigil.TurnSlots(t.turn.CheckID, t.turn.Region, first, schedule.Interval, t.most)
	t.until = first.Add(time.Duration(t.slots-1) * schedule.Interval)
	if planned := activity.GetInfo(ctx).Deadline.Add(-e.deadline() - lastSlot); planned.Before(t.until) {
		t.until = planned
	}
}

// complete reports whether the turn has covered its slots.
func (t *turnRun) complete(e *entry, schedule vigil.Schedule) bool {
	return t.covered > 0 && t.covered >= min(t.slots, t.span(e, schedule))
}

// span is how many slots the turn may cover with a definition. With a definition that is
// newer than the plan of the turn it is one: at a longer interval more slots could exceed
// the timeout of the activity. Otherwise the plan counts, and not what the budget of this
// process demands now: a worker that has just started does not know its loops yet.
func (t *turnRun) span(e *entry, schedule vigil.Schedule) int {
	if t.TurnRate == 0 || e.Check.Revision > t.turn.Revision {
		return 1
	}
	return max(1, min(t.turn.Span, int(t.QuietWindow/schedule.Interval)))
}

// end returns the result of the turn and plans the next one.
func (t *turnRun) end(reason End, e *entry, schedule vigil.Schedule) *TurnResult {
	out := &TurnResult{
		End: reason, State: t.state, Revision: e.Check.Revision, Span: 1, Deadline: e.deadline(),
		By: t.shortName, Behind: t.behind,
	}
	if reason == Gone {
		return out
	}
	out.Restarted = t.revote || t.turn.State.Slot.Before(schedule.Start) && !t.state.Slot.Before(schedule.Start)
	out.Voted = t.calmVote && !t.revote && len(t.state.Firing) == 0
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
	case 2*t.turn.Span < most:
		return 2 * t.turn.Span, vigil.TurnGrowing
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
