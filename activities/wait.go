// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"
)

// waitResult is the reason why a wait ended.
type waitResult int

const (
	due        waitResult = iota // the slot has come
	late                         // the planned time is over
	replaced                     // the definition changed
	stopping                     // the worker stops
	revoked                      // the lease of the turn was
	superseded                   // a newer turn wants the place
	cancelled                    // the context ended
)

// await waits until the time of a slot, or until another event ends the wait.
func (t *turnRun) await(ctx context.Context, slot time.Time, e *entry) waitResult {
	timer := time.NewTimer(slot.Sub(t.Now()))
	defer timer.Stop()
	if why := wait(ctx, t, e, timer.C, nil); why != due {
		return why
	}
	return t.awaitLease(ctx, e)
}

// wait returns due when ready is, late when the time is over, which a nil channel never
// is, and otherwise why the turn must not wait for longer.
func wait[T any](ctx context.Context, t *turnRun, e *entry, ready <-chan T, over <-chan time.Time) waitResult {
	select {
	case <-ready:
		return due
	case <-over:
		return late
	case <-t.lock.superseded:
		return superseded
	case <-e.replaced:
		return replaced
	case <-t.stop:
		return stopping
	case <-ctx.Done():
		return cancelled
	}
}
