// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
)

// TurnTimeout is how long a turn in a region may take that covers so many slots, before Temporal gives it
// up: the longest window, the longest probe and the slack. It does not depend more on the plan of a turn,
// since it finds nothing: the turns of a dead worker are adopted, leases find it in seconds, and the sweep
// finds a loop that is late. It is shorter for turns of one slot, of which there are many, because Temporal
// keeps a row for each timeout until it is over, also when the turn has ended long before.
func TurnTimeout(region string, slots int) time.Duration {
	window := oneSlotWindow
	if slots > 1 || rowsDecide(region) {
		window = longestWindow
	}
	return window + vigil.LongestProbe + turnSlack
}

// rowsDecide reports whether all results in a region arrive, and follow from rows.
func rowsDecide(region string) bool {
	return region == vigil.HeartbeatRegion || vigil.IsLocation(region)
}

// window is the longest time that the turn may cover. A turn whose results arrive loses nothing when
// it is lost, and its state is in rows, so it may be longer.
func (t *turnRun) window() time.Duration {
	if rowsDecide(t.turn.Region) {
		return min(arrivalsWindow*t.QuietWindow, longestWindow)
	}
	return t.QuietWindow
}

const (
	// longestWindow is the longest quiet window that a worker may be given.
	longestWindow = 6 * time.Hour
	// oneSlotWindow is how long a turn of one slot goes on at most, which may become wider.
	oneSlotWindow = time.Hour
	// arrivalsWindow is how many quiet windows a turn covers at most whose results arrive.
	arrivalsWindow = 12
	// turnSlack is for the dispatch of the activity and for storing the last result.
	turnSlack = 30 * time.Second
	// Parts of turnSlack: a turn begins no slot in the last lastSlot of it, since the clock of
	// the server that measures it may differ, and no probe in the last lastProbe, which is kept
	// for storing the result.
	lastSlot  = 20 * time.Second
	lastProbe = 10 * time.Second
)

// waitResult is the reason why a wait ended.
type waitResult int

const (
	due        waitResult = iota // it was long enough
	late                         // it may not be longer
	replaced                     // the definition changed, or another slot may be due
	gone                         // the check does not run here any more
	stopping                     // the worker stops
	revoked                      // the lease of the turn was
	superseded                   // a newer turn wants the loop
	cancelled                    // the context ended
)

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

// awaitInstant waits until an instant, and then until the lease holds. A turn without its lease
// is parked: with the same fence it goes on, with another one it ends, because the loop may have
// been given to another worker.
func (t *turnRun) awaitInstant(ctx context.Context, e *entry, until time.Time) waitResult {
	timer := time.NewTimer(until.Sub(t.Now()))
	why := wait(ctx, t, e, timer.C, nil)
	timer.Stop()
	if why != due {
		return why
	}
	return t.awaitLease(ctx, e)
}

// awaitLease waits until the lease holds, as awaitInstant.
func (t *turnRun) awaitLease(ctx context.Context, e *entry) waitResult {
	for waited := due; ; waited = replaced { // after a wait another slot may be due
		fence, ok, held := t.Lease.look(t.turn.Region)
		switch {
		case ok && fence == t.fence:
			return waited
		case ok:
			return revoked
		}
		if why := wait(ctx, t, e, held, nil); why != due {
			return why
		}
	}
}

// acquire waits for a place among the probes of this process, for a probe that is due since an
// instant. It gives up at another one, or for what ends the wait for a slot, and when the lease
// has expired meanwhile: the next wait then parks the turn or ends it. The place is given back by
// observeIn.
func (t *turnRun) acquire(ctx context.Context, e *entry, since, giveUp time.Time) (*fair.Place, waitResult) {
	place, why := t.Probes.Join(e.claim(since)), due
	select {
	case <-place.Granted():
	default:
		timer := time.NewTimer(giveUp.Sub(t.Now()))
		defer timer.Stop()
		why = wait(ctx, t, e, place.Granted(), timer.C)
	}
	if fence, ok := t.Lease.Holds(t.turn.Region); why == due && (!ok || fence != t.fence) {
		why = replaced
	}
	if why != due {
		place.Leave()
		return nil, why
	}
	return place, due
}

// lastBegin is the latest instant at which a probe may begin that takes up to a duration.
func (t *turnRun) lastBegin(takes time.Duration) time.Time {
	return t.call.Ends.Add(-takes - lastProbe)
}

// signal leaves a value in a channel that has a buffer of one, unless one is there.
func signal(ready chan<- struct{}) {
	select {
	case ready <- struct{}{}:
	default:
	}
}
