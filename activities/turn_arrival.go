// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// This file is the part of a turn whose results arrive, instead of being probed by the worker: it
// waits for pings of jobs. What follows from them is vigil.NextArrival's to decide, from rows, so a
// slot may outlast its turn: the next turn goes on with it.

// occupies is how long a turn is needed once a slot of it has begun: as long as a probe takes. What
// arrives needs none.
func (t *turnRun) occupies(e *entry) time.Duration {
	if t.arrives(e) {
		return 0
	}
	return e.deadline()
}

// dueSlot returns the slot that is next. What arrives is decided from rows, so that no slot of it is
// passed over because a newer one is due.
func (t *turnRun) dueSlot(e *entry, schedule vigil.Schedule, now time.Time) time.Time {
	if t.arrives(e) {
		return schedule.Next(t.arrivalsFrom(schedule))
	}
	return schedule.Due(t.state.Slot, now)
}

// arrivalsFrom is the newest slot that has a result or is over.
func (t *turnRun) arrivalsFrom(schedule vigil.Schedule) time.Time {
	if t.state.Slot.Before(schedule.Start) {
		return schedule.Start.Add(-1)
	}
	return t.state.Slot
}

// arrivalLimit is when a turn decides again although nothing came.
func (t *turnRun) arrivalLimit() time.Time {
	if ends := t.plan.ExtendedTo; !ends.IsZero() && ends.Before(t.latest) {
		return ends
	}
	return t.latest
}

// arrivalStack is how much of its stack a turn keeps while it waits for a ping, in bytes: a quarter of what it needs when one
// comes. With less the collector takes the rest away each time it runs, and each ping copies the stack into a larger one, a
// tenth of what it costs.
const arrivalStack = 2 << 10

// awaitArrival waits until a slot is decided or something else happened, until a limit at most. It
// returns due at the limit, and otherwise as await does.
func (t *turnRun) awaitArrival(ctx context.Context, e *entry, limit time.Time) (waitResult, error) {
	var kept [arrivalStack]byte
	defer func() { runtime.KeepAlive(&kept) }()
	return t.awaitPing(ctx, e, limit)
}

func (t *turnRun) awaitPing(ctx context.Context, e *entry, limit time.Time) (waitResult, error) {
	schedule := t.schedule
	if t.arrival == nil {
		t.arrival = t.Arrivals.join(t.turn.CheckID)
	}
	for {
		if why := t.awaitLease(ctx, e); why != due {
			return why, nil
		}
		slot := t.dueSlot(e, schedule, t.Now())
		// The first ping is a result at once, and so is a late one, which may come long before the next slot.
		seen := timing.Later(t.state.Slot, schedule.Start)
		news, err := t.Arrivals.read(ctx, t.arrival, timing.Earlier(slot, seen).Add(-e.heartbeat.Look()))
		if err != nil {
			return due, fmt.Errorf("read the pings: %w", err)
		}
		if !news.answered.IsZero() {
			facts := vigil.ArrivalFacts{
				Heartbeat: *e.heartbeat, Slot: slot, Next: schedule.Next(slot), Health: t.state.Health,
				Pings: news.pings, Spans: news.spans, Answered: news.answered,
				Seen: seen,
			}
			next := vigil.NextArrival(&facts)
			if next.Kind != vigil.ArrivalWait {
				return t.arrived(t.arrival.within(ctx, t.call.Ends), e, slot, &next)
			}
			t.Arrivals.await(t.arrival, next.At)
		}
		t.arrival.limit(limit, t.Now())
		switch why := wait(ctx, t, e, t.arrival.ready, t.arrival.over.C); why {
		case due:
		case late:
			t.arrival.ends = time.Time{} // it may be over once more
			return due, nil
		default:
			return why, nil
		}
	}
}

// arrived stores what a slot has got.
func (t *turnRun) arrived(ctx context.Context, e *entry, slot time.Time, next *vigil.Arrival) (waitResult, error) {
	manual := next.Kind == vigil.ArrivalExtra
	if manual {
		slot = next.At
	}
	if passed, err := t.passOver(ctx, e, slot); passed || err != nil {
		return due, err
	}
	if next.Kind == vigil.ArrivalMissed {
		t.state.Slot, t.state.Unstored = slot, true
		t.covered++
		return due, nil
	}
	result := vigil.Result{
		ID: vigil.ResultID(t.turn.CheckID, t.turn.Region, slot), CheckID: t.turn.CheckID, Region: t.turn.Region,
		Slot: slot, Time: next.At, Manual: manual, Observation: next.Observation,
	}
	if p := next.Ping; p != nil && p.Bytes > 0 && !e.Check.NoEvidence && t.state.For(e.Check.Type).WantsEvidence(e.Rules, result) {
		body, err := t.Arrivals.store.PingBody(ctx, p.ID)
		if err != nil {
			return due, err
		}
		result.Evidence = pingEvidence(body, p.Bytes)
	}
	named := t.named
	if err := t.store(ctx, e, result); err != nil {
		return t.unstored(err)
	}
	if manual {
		t.named = named // the row of the loop goes on to name the turn
	}
	t.covered++
	return due, nil
}

// evidenceEnd is how many bytes of the end of a body the evidence of a failure has.
const evidenceEnd = 2 << 10

// pingEvidence is what a failed job has said last.
func pingEvidence(text string, length int64) *vigil.Evidence {
	if cut := len(text) - evidenceEnd; cut > 0 {
		text = vigil.CleanText(text[cut:])
	}
	return &vigil.Evidence{Body: &vigil.EvidenceContent{Text: text, Bytes: length, Truncated: int64(len(text)) < length}}
}
