// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// TypeParked is the type of the error of an activity that reached a worker whose leases do
// not hold, by a poll that was open when they expired. Another attempt reaches another
// worker.
const TypeParked = "parked"

// TypeNoAgent is the type of the error of a test in a region of agents that none of them has answered.
const TypeNoAgent = "no_agent"

var errParked = temporal.NewApplicationError("this worker cannot renew its lease", TypeParked)

// refuse ends a turn that reached a worker without a lease. Where the worker knows the
// definition, it hands the turn over as it is, so that another worker runs it at once;
// otherwise the turn fails and the loop repeats it after a second.
//
// This cannot go round in circles, even when no worker has a lease: the worker opens no
// new poll, so each of these turns takes one of the few that were open.
func (w *Watcher) refuse(ctx context.Context, turn *Turn) (*TurnResult, error) {
	w.locks.supersede(turn.key(), activity.GetInfo(ctx).ScheduledTime)
	e := w.Catalogue.cached(turn.CheckID, turn.Revision)
	if e == nil {
		return nil, errParked
	}
	schedule, ok := e.Schedule(turn.Region)
	if !ok {
		return nil, errParked
	}
	t := w.newTurn(turn, nil, 0, nil)
	t.out.Behind = turn.Recover
	return t.end(ctx, vigil.TurnHandOver, e, schedule), nil
}

// stale reports whether the server does not wait for a turn any more. A turn may reach a
// worker long after the server has given it to it, when the worker was frozen, and the
// loop may run elsewhere by then. The question costs a state transition, so it is for
// turns only that were on their way for long.
func (w *Watcher) stale(ctx context.Context) bool {
	started := activity.GetInfo(ctx).StartedTime // by the server's clock
	if w.Lease == nil || started.IsZero() || w.Now().Sub(started) <= fleet.LeaseTimeout {
		return false
	}
	activity.RecordHeartbeat(ctx)
	return ctx.Err() != nil
}
