package reconcile

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"vigil"
)

// abandonedLoops nudges the loops of workers that no longer renew their lease, at
// once: their turns would otherwise end only at their timeouts.
type abandonedLoops struct {
	store  loopStore
	leases *leaseMonitor
	nudge  func(context.Context, vigil.Loop) error
	now    func() time.Time
	log    *slog.Logger

	// pending is what is left to nudge. Each list is read once, so that a loop
	// whose next result is far off is nudged once too.
	pending map[vigil.Lease]*abandonedLease
}

// A nudged loop that no worker has claimed after claimWithin is nudged again, until
// watchFor after all were nudged: its new turn was given to the silent worker, which had
// asked for it before it stopped. The pass for overdue loops would find it much later.
const (
	claimWithin = 10 * time.Second
	watchFor    = 30 * time.Second
)

// abandonedLease is a revoked lease whose loops are given to other workers.
type abandonedLease struct {
	loops  []vigil.Loop // left to nudge
	nudged time.Time    // when none was left
}

// repair is one pass. A region without a live worker is left alone; its loops wait
// for one.
func (a *abandonedLoops) repair(ctx context.Context) error {
	silent, known, blind := a.leases.confirmedSilent(a.now())
	if blind {
		a.pending = nil
	}
	if !known {
		return nil
	}
	for lease := range a.pending {
		if !slices.Contains(silent, lease) {
			delete(a.pending, lease) // the lease was removed, or renewed late
		}
	}
	if len(silent) == 0 {
		return nil
	}
	live, err := a.store.LiveRegions(ctx, vigil.LeaseTimeout)
	if err != nil {
		return err
	}
	left := passLimit
	for _, lease := range silent {
		if _, served := live[lease.Region]; !served {
			continue
		}
		nudged, err := a.nudgeSome(ctx, lease, left)
		if err != nil {
			return err
		}
		if left -= nudged; left <= 0 {
			break
		}
	}
	return nil
}

// nudgeSome nudges at most limit loops of a silent worker and returns how many. It revokes
// the lease first: a worker that is only cut off then ends its own turns of these loops.
// When none is left it removes the lease, but remembers that its loops were nudged until
// the lease monitor, whose reading may be older, no longer reports it.
func (a *abandonedLoops) nudgeSome(ctx context.Context, lease vigil.Lease, limit int) (int, error) {
	known := a.pending[lease]
	if known == nil {
		var err error
		if known, err = a.revoke(ctx, lease); known == nil {
			return 0, err
		}
	}
	if !known.nudged.IsZero() && len(known.loops) == 0 {
		var err error
		if known.loops, err = a.store.AbandonedLoops(ctx, lease, a.now().Add(-claimWithin)); err != nil {
			return 0, err
		}
	}
	n := min(limit, len(known.loops))
	failed, err := inParallel(ctx, known.loops[:n], a.nudge)
	if known.loops = slices.Concat(failed, known.loops[n:]); err != nil || len(known.loops) > 0 {
		return n, err
	}
	if known.nudged.IsZero() {
		known.nudged = a.now()
	}
	if a.now().Sub(known.nudged) < watchFor {
		return n, nil
	}
	return n, a.store.ForgetLease(ctx, lease, vigil.LeaseTimeout)
}

// revoke revokes a lease and reads its loops; nil without an error means that its worker
// has renewed it meanwhile.
func (a *abandonedLoops) revoke(ctx context.Context, lease vigil.Lease) (*abandonedLease, error) {
	revoked, err := a.store.RevokeLease(ctx, lease, vigil.LeaseTimeout)
	if err != nil || !revoked {
		return nil, err
	}
	loops, err := a.store.AbandonedLoops(ctx, lease, time.Time{})
	if err != nil {
		return nil, err
	}
	known := &abandonedLease{loops: loops}
	if len(loops) > 0 {
		a.log.WarnContext(ctx, "worker stopped renewing its lease, nudging its loops",
			"worker", lease.Worker, "region", lease.Region, "loops", len(loops))
	} else { // it stopped in good order, and other workers have its loops
		known.nudged = a.now().Add(-watchFor)
	}
	if a.pending == nil {
		a.pending = make(map[vigil.Lease]*abandonedLease)
	}
	a.pending[lease] = known
	return known, nil
}
