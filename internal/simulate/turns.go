// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	"github.com/vigil-monitor/vigil"
)

// turnLimit is far enough that no turn reaches it: what a timeout of Temporal ends is not simulated.
const turnLimit = 24 * time.Hour

// beginTurn begins the next turn of a loop. Temporal gives it to any worker of the region that takes turns.
func (w *world) beginTurn(i uint32) {
	l := &w.loops[i]
	if !l.adopted && (l.plan.Span > 0 || l.fresh) {
		next, ok := w.anyWorker()
		if !ok {
			l.running = false // it waits for one in Temporal: the region is away
			w.waitForWorker(i)
			return
		}
		l.worker = next
	}
	p := w.workers[l.worker]
	if !p.alive {
		return
	}
	now := w.instant(w.now)
	p.budget.Begin(w.key(l), now)
	p.budget.Run(w.key(l), w.o.Interval, false, now)
	l.plan, l.covered, l.running, l.reported = vigil.TurnPlan{}, 0, true, false
	if l.moved && w.lossAt > 0 {
		w.out.movedTurn(w)
	}
	w.decide(i)
}

// decide does the next step of the turn of a loop, as the activity does.
func (w *world) decide(i uint32) {
	l := &w.loops[i]
	for {
		f := w.facts(l)
		step := vigil.NextTurnStep(f)
		l.plan = step.Plan
		switch step.Action {
		case vigil.TurnReport:
			l.reported = true
			continue
		case vigil.TurnContinue:
			w.events.push(event{at: max(w.now, w.since(step.Until)), of: i, turn: l.turn, kind: atSlot})
		case vigil.TurnStop:
			w.endTurn(i, step.End)
		case vigil.TurnLeave: // no worker stops in good order
		}
		return
	}
}

// facts are those of a healthy check whose definition does not change.
func (w *world) facts(l *loop) vigil.TurnFacts {
	now := w.instant(w.now)
	p := w.workers[l.worker]
	f := vigil.TurnFacts{
		CheckID: l.id, Region: region, Interval: w.o.Interval, Revision: 1, Known: 1, Now: now, Next: l.schedule.Due(l.slot, now),
		Latest: w.origin.Add(time.Duration(w.end) + turnLimit), Plan: l.plan, Span: int(l.span), Covered: int(l.covered),
		New: l.fresh, Adopted: l.adopted, Before: vigil.Healthy, Health: vigil.Healthy, Reported: l.reported, EverySlot: w.rate == 0,
	}
	if f.New && f.Covered == 0 {
		f.Before, f.Health = "", ""
	}
	if l.first && f.Covered == 1 {
		f.Before = ""
	}
	if f.New && f.Covered == 1 {
		f.Most, _ = p.budget.Most(now, w.o.Interval, w.o.Window, false)
		f.BeyondBudget = !p.budget.Left(now)
	}
	f.Crowded = l.covered > 0 && f.Next.After(l.plan.Last) && p.budget.Crowded(now) && p.lateness.Punctual(now)
	return f
}

// endTurn ends a turn, and has Temporal begin the next one.
func (w *world) endTurn(i uint32, end vigil.TurnEnd) {
	l, now := &w.loops[i], w.instant(w.now)
	p := w.workers[l.worker]
	s := vigil.TurnSpan{End: end, Covers: max(1, l.plan.Span)}
	s.Most, s.Reason = p.budget.Most(now, w.o.Interval, w.o.Window, false)
	s.Within = p.budget.Take(now)
	span, _ := vigil.NextTurnSlots(s)
	if w.rate == 0 {
		span = 1
	}
	l.span = int32(span)
	p.budget.End(w.key(l), true, now)
	l.running, l.adopted, l.fresh = false, false, false
	w.out.turn(w)
	w.pass(i)
}

// pass has Temporal begin the turn of a loop: the work of its three transitions, in Temporal, its store and the worker.
func (w *world) pass(i uint32) {
	p := w.workers[w.loops[i].worker]
	_, at := w.temporal.work(w.now, core(w.m.Temporal.Turn))
	_, at = w.temporal.work(at, core(w.m.Postgres.Turn))
	_, at = p.host.work(at, core(w.m.Worker.Turn))
	w.events.push(event{at: max(at, w.now+1), of: i, turn: w.loops[i].turn, kind: atTurn})
}

// anyWorker is one that takes turns.
func (w *world) anyWorker() (uint32, bool) {
	first := w.rng.IntN(len(w.workers))
	for k := range w.workers {
		i := (first + k) % len(w.workers)
		if p := w.workers[i]; p.alive && !p.parked(w.now) {
			return uint32(i), true //nolint:gosec // at most 10,000
		}
	}
	return 0, false
}

// waitForWorker looks again in a second whether a worker takes the turn of a loop.
func (w *world) waitForWorker(i uint32) {
	w.events.push(event{at: w.now + int64(time.Second), of: i, turn: w.loops[i].turn, kind: atTurn})
}

// core is how long work takes on a core, in nanoseconds.
func core(seconds float64) int64 { return int64(seconds * float64(time.Second)) }
