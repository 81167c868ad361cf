// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// run does what vigil.NextTurnStep decides, until the turn ends. A turn waits here nearly all of its
// life, so what it needs to decide and to probe is on the stacks of other functions: 4 KiB are enough
// for what waits.
func (t *turnRun) run(ctx context.Context) (*TurnResult, error) {
	for before, why := t.state.Health, due; ; {
		e, until, result, err := t.decide(ctx, before, why)
		if err != nil || result != nil {
			return result, err
		}
		if e == nil {
			why = due
			continue
		}
		before = t.state.Health
		switch why, err = t.await(ctx, e, until); {
		case err != nil:
			return nil, err
		case why == superseded:
			return nil, ErrSuperseded
		case why == cancelled:
			return nil, ctx.Err()
		}
	}
}

// decide does the next step of the turn, after a wait that ended for a reason and with the health before
// it: it returns the definition to wait with and until when, the result of the turn, or neither when the
// turn has reported its vote and decides once more.
func (t *turnRun) decide(
	ctx context.Context, before vigil.Health, why waitResult,
) (e *entry, until time.Time, result *TurnResult, err error) {
	if e, err = t.definition(ctx); err != nil {
		return nil, until, nil, err
	}
	var runs bool
	if t.schedule, runs = e.Schedule(t.turn.Region); !runs {
		why = gone
	}
	if why != gone {
		t.budget.Run(t.lock.key, t.schedule.Interval, rowsDecide(t.turn.Region), t.Now())
		if err := t.compare(ctx, e); err != nil {
			return nil, until, nil, err
		}
	}
	facts := t.facts(ctx, e, before, why)
	step := vigil.NextTurnStep(facts)
	t.plan = step.Plan
	switch step.Action {
	case vigil.TurnStop:
		return nil, until, t.end(ctx, step.End, e, t.schedule), nil
	case vigil.TurnLeave:
		return nil, until, nil, errLeft
	case vigil.TurnReport:
		t.report(ctx, e.Check.Revision)
		return nil, until, nil, nil
	case vigil.TurnContinue:
		t.lock.progress.Store(&LoopProgress{State: t.state, Next: facts.Next, Span: t.plan.Span})
	}
	return e, step.Until, nil, nil
}

// facts returns what the turn knows, after a wait that ended for a reason and with the health
// before it. What costs something is asked only where the decision may need it.
func (t *turnRun) facts(ctx context.Context, e *entry, before vigil.Health, why waitResult) vigil.TurnFacts {
	now, schedule := t.Now(), t.schedule
	if t.latest = t.call.Ends.Add(-t.occupies(e) - lastSlot); !t.lost.IsZero() {
		t.latest = timing.Earlier(t.latest, t.lost)
	}
	f := vigil.TurnFacts{
		CheckID: t.turn.CheckID, Region: t.turn.Region, Interval: schedule.Interval, Revision: e.Check.Revision, Known: t.turn.Revision,
		Now: now, Latest: t.latest, Plan: t.plan, Covered: t.covered,
		New: t.turn.State.Slot.IsZero(), Adopted: t.adopted, Behind: t.out.Behind || t.out.Restarted,
		Before: before, Health: t.state.Health, Fires: t.firingChanged(),
		Reported: t.vote == voteReported, ReportFailed: t.vote == voteFailed, EverySlot: t.TurnRate == 0,
		Away: !t.lost.IsZero() || t.reach.away(now), Ahead: t.ahead,
		Gone: why == gone, OutOfTime: why == late, Stopping: why == stopping, Revoked: why == revoked, Named: t.named,
	}
	if f.Gone {
		return f
	}
	f.Next, f.Span = t.dueSlot(e, schedule, now), t.span(schedule)
	f.Taken = f.Revoked && t.named && !t.owns(ctx)
	if f.New && f.Covered == 1 {
		f.Most, _ = t.most(now, schedule)
		f.BeyondBudget = !t.budget.Left(now)
	}
	if t.covered > 0 && before != "" && t.plan.ExtendedTo.IsZero() && (f.Fires || before != f.Health) {
		f.Burst = t.news.Add(now) // each turn with news counts once: it ends, or is extended
	}
	f.Crowded = t.covered > 0 && f.Next.After(t.plan.Last) && t.budget.Crowded(now) && t.lateness.Punctual(now)
	return f
}
