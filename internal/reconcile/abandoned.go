// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// abandonedLimit is how many loops of lost workers one pass nudges: more than others, since
// a region without them is silent, and how many at a time bounds the load.
const abandonedLimit = fleet.NudgeAtOnce

// abandonedLoops nudges the loops of workers that no longer renew their lease, at
// once: their turns would otherwise end only at their timeouts.
type abandonedLoops struct {
	store  loopStore
	leases *leaseMonitor
	nudge  func(context.Context, work, []vigil.Loop) error
	now    func() time.Time
	log    *slog.Logger

	reported []fleet.Lease // whose silence is in the log
}

// repair is one pass. A region without a live worker is left alone; its loops wait
// for one.
func (a *abandonedLoops) repair(ctx context.Context, w work) error {
	silent, known := a.leases.confirmedSilent(a.now())
	if !known {
		return nil
	}
	a.reported = slices.DeleteFunc(a.reported, func(l fleet.Lease) bool { return !slices.Contains(silent, l) })
	if len(silent) == 0 {
		return nil
	}
	live, err := a.store.LiveRegions(ctx, fleet.LeaseTimeout)
	if err != nil {
		return err
	}
	left := abandonedLimit
	for _, lease := range silent {
		if _, served := live[lease.Region]; !served {
			continue
		}
		nudged, err := a.nudgeSome(ctx, w, lease, left)
		if err != nil {
			return err
		}
		if left -= nudged; left <= 0 {
			break
		}
	}
	return nil
}

// nudgeSome nudges at most limit loops of a silent worker and returns how many. The rows
// say which ones were nudged, so that each is nudged once even when its shard changes
// hands. The lease is revoked first: a worker that is only cut off then ends its own turns
// of these loops. It is removed by the process that finds none left in any shard.
func (a *abandonedLoops) nudgeSome(ctx context.Context, w work, lease fleet.Lease, limit int) (int, error) {
	if revoked, err := a.store.RevokeLease(ctx, lease, fleet.LeaseTimeout); err != nil || !revoked {
		return 0, err // not revoked: the worker has renewed it meanwhile
	}
	loops, err := a.store.AbandonedLoops(ctx, lease, fleet.LeaseTimeout, w.checks(), limit)
	if err != nil {
		return 0, err
	}
	if len(loops) > 0 && !slices.Contains(a.reported, lease) { // none: it stopped in good order, and other workers have its loops
		a.reported = append(a.reported, lease)
		a.log.WarnContext(ctx, "worker stopped renewing its lease, nudging its loops", "worker", lease.Worker, "region", lease.Region)
	}
	if err := a.nudge(ctx, w, loops); err != nil {
		return len(loops), err
	}
	return len(loops), a.store.ForgetLease(ctx, lease, fleet.LeaseTimeout)
}
