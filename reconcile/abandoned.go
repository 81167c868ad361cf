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
	pending map[vigil.Lease][]vigil.Loop
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

// nudgeSome nudges at most limit loops of a silent worker and returns how many. When
// none is left it removes the lease, but remembers that its loops were nudged until
// the lease monitor, whose reading may be older, no longer reports it.
func (a *abandonedLoops) nudgeSome(ctx context.Context, lease vigil.Lease, limit int) (int, error) {
	loops, known := a.pending[lease]
	if !known {
		var err error
		if loops, err = a.store.AbandonedLoops(ctx, lease); err != nil {
			return 0, err
		}
		if len(loops) > 0 { // none: it stopped in good order, and other workers have its loops
			a.log.WarnContext(ctx, "worker stopped renewing its lease, nudging its loops",
				"worker", lease.Worker, "region", lease.Region, "loops", len(loops))
		}
		if a.pending == nil {
			a.pending = make(map[vigil.Lease][]vigil.Loop)
		}
		a.pending[lease] = loops
	}
	n := min(limit, len(loops))
	failed, err := inParallel(ctx, loops[:n], a.nudge)
	loops = slices.Concat(failed, loops[n:])
	if a.pending[lease] = loops; err != nil || len(loops) > 0 {
		return n, err
	}
	return n, a.store.ForgetLease(ctx, lease, vigil.LeaseTimeout)
}
