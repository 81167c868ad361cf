// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
)

// probeApart runs an attempt on a goroutine of its own. A probe needs a stack of 16 KB or
// more, which a turn that ran it on its own goroutine would keep for all the time that it
// waits. A panic of the probe continues in the turn.
func (t *turnRun) probeApart(attempt func() error) (err error) {
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		err = attempt()
	}()
	if failed := <-ended; failed != nil {
		panic(failed)
	}
	return err
}

// probe makes the first attempt for a slot, and stores its result unless another attempt
// follows: then it sets t.failed. The place of the probe is given back when it has ended.
func (t *turnRun) probe(ctx context.Context, e *entry, slot time.Time, place *fair.Place) error {
	result := vigil.Result{
		ID:      vigil.ResultID(t.turn.CheckID, t.turn.Region, slot),
		CheckID: t.turn.CheckID, Region: t.turn.Region,
		Slot: slot, Time: t.Now(),
		Observation: e.observeIn(ctx, place),
	}
	if ctx.Err() != nil {
		return ctx.Err() // the probe was interrupted: its result says nothing about the target
	}
	if t.failed = e.retries(result); t.failed != nil {
		return nil
	}
	return t.store(ctx, e, result)
}

// store stores the result of a slot and evaluates the stored row. When the slot already has
// a result, that one is evaluated instead.
func (t *turnRun) store(ctx context.Context, e *entry, result vigil.Result) error {
	if result.Unavailable {
		// It says nothing about the target either: the slot counts as missed.
		t.Log.WarnContext(ctx, "this machine cannot run the check",
			"check", t.turn.CheckID, "type", e.Check.Type, "reason", result.Error)
		t.state.Slot, t.state.Unstored = result.Slot, true
		return nil
	}
	stored, err := t.Results.Write(ctx, vigil.ResultRow{
		Result: result, Worker: t.Worker, Deadline: e.deadline(), TurnSlots: t.most, MaxDelay: t.writeDelay(e, result),
		Excluded: t.excluded(e, result.Slot), Turn: t.openAfter(e, result.Slot), Owned: t.adoption || t.covered > 0,
	})
	if err != nil {
		return fmt.Errorf("store the result: %w", err)
	}
	countResult(ctx, e.Check.Type, stored)
	if stored.Moved {
		return vigil.Errorf(vigil.CodeConflict, "The loop belongs to another worker.")
	}
	return t.include(ctx, e, stored)
}
