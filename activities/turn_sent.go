// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
)

// This file is the part of a turn whose results agents send. It stores and judges them as it does those
// of its own probes, in the order of their slots. A slot without a result is missed once a later one
// has one.

// sends reports whether agents send the results of the turn's region.
func (t *turnRun) sends() bool { return t.Inbox.Serves(t.turn.Region) }

// arrives reports whether the results of a check arrive, instead of being probed here.
func (t *turnRun) arrives(e *entry) bool { return e.heartbeat != nil || t.sends() }

// awaitSent waits for results of an agent and stores those that there are, until a limit at most. It returns due
// after results and at the limit, replaced once agents do not serve the region any more, and otherwise as await
// does. What came together is judged together: a vote that was over when it arrived is none.
func (t *turnRun) awaitSent(ctx context.Context, e *entry, limit time.Time) (waitResult, error) {
	if t.sent == nil {
		t.sent = t.Inbox.join(t.lock.key)
	}
	for stored := false; ; {
		if why := t.awaitLease(ctx, e); why != due {
			return why, nil
		}
		next, err := t.Inbox.first(ctx, t.sent)
		switch {
		case err != nil:
			return due, fmt.Errorf("read the results of agents: %w", err)
		case next != nil:
			if why, err := t.storeSent(ctx, e, next); why != due || err != nil || t.out.Behind {
				return why, err
			}
			stored = true
			continue
		case stored:
			return due, nil
		case !t.sends():
			return replaced, nil // the worker probes the region again
		}
		timer := time.NewTimer(limit.Sub(t.Now()))
		why := wait(ctx, t, e, t.sent.ready, timer.C)
		timer.Stop()
		switch why {
		case due:
		case late:
			return due, nil
		default:
			return why, nil
		}
	}
}

// storeSent stores a result of an agent. One that is late, or comes after one of a later slot, fills its
// slot and is not judged.
func (t *turnRun) storeSent(ctx context.Context, e *entry, sent *location.Sent) (waitResult, error) {
	ctx, cancel := context.WithDeadline(ctx, t.call.Ends)
	defer cancel()
	id, result := sent.Number, sent.Result
	backfill := !result.Slot.After(t.state.Slot) || result.Slot.Before(e.StateFrom(t.turn.Region))
	tooLate := sent.Received.Sub(result.Slot) > e.deadline()+agentlink.Late
	paused, _, err := t.Catalogue.maintenance.of(ctx, &e.Check, result.Slot)
	if err != nil {
		return due, err
	}
	if paused {
		if !backfill {
			t.pass(e, result.Slot)
		}
		t.Inbox.take(t.sent, id)
		return due, nil
	}
	if e.Check.NoEvidence || !t.state.For(e.Check.Type).WantsEvidence(e.Rules, result) {
		result.Evidence = nil
	}
	if backfill || tooLate {
		err = t.fill(ctx, e, result)
	} else {
		err = t.store(ctx, e, result)
	}
	if err != nil {
		return t.unstored(err)
	}
	t.Inbox.take(t.sent, id)
	if !backfill {
		t.covered++
	}
	return due, nil
}

// fill stores a result that is not judged.
func (t *turnRun) fill(ctx context.Context, e *entry, result vigil.Result) error {
	if result.Unavailable {
		return nil
	}
	_, named, err := t.write(ctx, e, vigil.ResultRow{Result: result, Late: true})
	if err != nil {
		return err
	}
	if result.Slot.After(t.state.Slot) {
		t.state.Slot, t.state.Unstored, t.named = result.Slot, true, named
	}
	return nil
}
