// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

const (
	// buildTimeout is how long Temporal may take to say which build is the current one.
	buildTimeout = time.Second
	// unansweredFor is how long the database may still carry out an adoption without an answer.
	unansweredFor = time.Minute
)

// unanswered is an adoption whose answer was lost: the database may have carried it out, or
// may do so yet.
type unanswered struct {
	region string
	id     uuid.UUID
	sent   time.Time
}

// offer has the turns of revoked leases adopted, unless that is under way. The builds of their
// workers are by region.
func (r *Regions) offer(builds map[string][]string) {
	if len(builds) == 0 {
		return
	}
	select {
	case r.revoked <- builds:
	default: // the next renewal offers them again
	}
}

// adopt adopts the open turns of workers that died, until ctx ends. The adopted turns end
// with it.
func (r *Regions) adopt(ctx context.Context) {
	again := time.NewTicker(fleet.LeaseRenewal)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			r.askAgain(ctx)
		case offered := <-r.revoked:
			r.adoptOffered(ctx, offered)
		}
	}
}

// adoptOffered adopts the turns of this build first: that needs no Temporal, which may be away.
// The turns of other builds are adopted by workers of the current build only, since Temporal
// gives the next turn of such a loop to them.
func (r *Regions) adoptOffered(ctx context.Context, offered map[string][]string) {
	own := r.opts.Deployment.build()
	for region, builds := range offered {
		if slices.Contains(builds, own) {
			r.adoptIn(ctx, region, []string{own})
		}
	}
	for region, builds := range offered {
		if slices.ContainsFunc(builds, func(build string) bool { return build != own }) && r.current(ctx, region) {
			r.adoptIn(ctx, region, builds)
		}
	}
}

// current reports whether this build is the one that Temporal gives the work of a region to.
func (r *Regions) current(ctx context.Context, region string) bool {
	if r.opts.Builds == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	build, err := r.opts.Builds.CurrentBuild(ctx, region)
	if err != nil {
		r.opts.Log.WarnContext(ctx, "it is not known which build gets work, so the turns of others are not adopted",
			"region", region, "error", err)
		return false
	}
	return build == r.opts.Deployment.build()
}

// askAgain asks for the turns of adoptions that had no answer.
func (r *Regions) askAgain(ctx context.Context) {
	now := r.opts.Now()
	r.unanswered = slices.DeleteFunc(r.unanswered, func(u unanswered) bool { return now.Sub(u.sent) > unansweredFor })
	var regions []string
	for _, u := range r.unanswered {
		regions = append(regions, u.region)
	}
	slices.Sort(regions)
	for _, region := range slices.Compact(regions) {
		r.adoptIn(ctx, region, nil)
	}
}

// adoptIn adopts turns of builds in a region until none is left or the lease does not hold.
func (r *Regions) adoptIn(ctx context.Context, region string, builds []string) {
	adopted := 0
	for ctx.Err() == nil {
		fence, ok := r.lease.Holds(region)
		if !ok {
			return
		}
		turns, err := r.adoptSome(ctx, region, builds)
		if err != nil {
			if ctx.Err() == nil {
				r.opts.Log.WarnContext(ctx, "turns of a lost worker not adopted, retrying", "region", region, "error", err)
			}
			return
		}
		r.run(turns, fence, ctx.Done())
		if adopted += len(turns); len(turns) < adoptBatch {
			break
		}
	}
	if adopted > 0 {
		r.opts.Log.WarnContext(ctx, "workers stopped renewing their leases, their open turns go on here", "region", region, "turns", adopted)
	}
}

// adoptSome makes one request, and asks for what those without an answer have adopted. A
// request of this process that may still be carried out stays among them.
func (r *Regions) adoptSome(ctx context.Context, region string, builds []string) ([]vigil.OpenTurn, error) {
	request := fleet.Adoption{
		Lease: fleet.Lease{Worker: r.opts.Name, Region: region}, Builds: builds, ID: uuid.New(), Limit: adoptBatch,
	}
	for _, u := range r.unanswered {
		if u.region == region {
			request.Unanswered = append(request.Unanswered, u.id)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	turns, err := r.opts.Leases.AdoptTurns(ctx, request, fleet.LeaseTimeout)
	if err != nil {
		r.unanswered = append(r.unanswered, unanswered{region, request.ID, r.opts.Now()})
	}
	return turns, err
}
