package workers

import (
	"context"

	"vigil"
)

// offer has the turns of revoked leases in these regions adopted, unless that is under way.
func (r *Regions) offer(regions []string) {
	if len(regions) == 0 {
		return
	}
	select {
	case r.revoked <- regions:
	default: // the next renewal offers them again
	}
}

// adopt adopts the open turns of workers that died, until ctx ends. The adopted turns end
// with it.
func (r *Regions) adopt(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case regions := <-r.revoked:
			for _, region := range regions {
				r.adoptIn(ctx, region)
			}
		}
	}
}

// adoptIn adopts turns of a region until none is left or the lease does not hold.
func (r *Regions) adoptIn(ctx context.Context, region string) {
	lease := vigil.Lease{Worker: r.opts.Name, Region: region}
	for adopted := 0; ctx.Err() == nil; {
		fence, ok := r.lease.Holds(region)
		if !ok {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, claimTimeout)
		turns, err := r.opts.Leases.AdoptTurns(bounded, lease, vigil.LeaseTimeout, adoptBatch)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.opts.Log.WarnContext(ctx, "turns of a lost worker not adopted, retrying", "region", region, "error", err)
		}
		r.opts.Watcher.Adopt(turns, fence, ctx.Done()) //nolint:contextcheck // they hand over when ctx ends, and need one of their own for it
		if adopted += len(turns); len(turns) < adoptBatch {
			if adopted > 0 {
				r.opts.Log.WarnContext(ctx, "workers stopped renewing their leases, their open turns go on here", "region", region, "turns", adopted)
			}
			return
		}
	}
}
