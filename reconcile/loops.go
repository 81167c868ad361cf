package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"vigil"
)

// overdueGrace is how late a loop may be beyond its deadline before it is nudged.
const overdueGrace = time.Minute

// overloadGrace is that grace while a region is overloaded: its loops are late and not
// lost, and a nudge makes them later.
const overloadGrace = 5 * time.Minute

// applyLagging applies every revision that Temporal has not accepted.
func (s *Sweep) applyLagging(ctx context.Context) error {
	lagging, err := s.store.Lagging(ctx, passLimit)
	if err != nil {
		return err
	}
	_, err = inParallel(ctx, lagging, s.loops.Apply)
	return err
}

// nudgeOverdue nudges loops whose next result is overdue. It does not read those of
// regions without a worker: however many they are, they must not displace loops
// that can be helped.
func (s *Sweep) nudgeOverdue(ctx context.Context) error {
	live, err := s.store.LiveRegions(ctx, vigil.LeaseTimeout)
	if err != nil || len(live) == 0 {
		return err
	}
	overloaded, err := s.store.OverloadedRegions(ctx, vigil.LeaseTimeout)
	if err != nil {
		return err
	}
	for region := range overloaded {
		delete(live, region)
	}
	late, err := s.store.Overdue(ctx, s.now(), overdueGrace, slices.Sorted(maps.Keys(live)), passLimit)
	if err != nil {
		return err
	}
	lost, err := s.store.Overdue(ctx, s.now(), overloadGrace, slices.Sorted(maps.Keys(overloaded)), passLimit)
	if err != nil {
		return err
	}
	_, err = inParallel(ctx, append(late, lost...), s.nudge)
	return err
}

func (s *Sweep) nudge(ctx context.Context, loop vigil.Loop) error {
	if err := s.loops.Nudge(ctx, loop); err != nil {
		return err
	}
	return s.store.MarkNudged(ctx, loop.CheckID, loop.Region, s.now())
}

// keepHouse creates the partitions of the days to come and drops what is expired.
func (s *Sweep) keepHouse(ctx context.Context) error {
	now := s.now()
	_, expired := s.housekeeping.ExpireChecks(ctx, now)
	return errors.Join(expired, s.housekeeping.EnsurePartitions(ctx, now), s.housekeeping.DropExpired(ctx, now))
}

// parallelism is how many loops are started or signalled at a time: a busy server
// answers each slowly, and many in the same time.
const parallelism = 8

// inParallel calls do for every loop and stops at the first failure: a server that
// is away for one loop is away for all. It returns the loops that are left.
func inParallel(ctx context.Context, loops []vigil.Loop, do func(context.Context, vigil.Loop) error) ([]vigil.Loop, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	done := make([]bool, len(loops))
	for i, loop := range loops {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			err := do(ctx, loop)
			done[i] = err == nil
			return err
		})
	}
	err := group.Wait()
	var left []vigil.Loop
	for i, loop := range loops {
		if !done[i] {
			left = append(left, loop)
		}
	}
	return left, err
}
