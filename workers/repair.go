package workers

import (
	"context"
	"errors"
	"maps"
	"slices"

	"vigil"
)

// repair is the pass of every second: what Temporal has not accepted, whose
// worker fell silent, what has to end.
func (s *Sweep) repair(ctx context.Context) error {
	return errors.Join(s.apply(ctx), s.abandoned(ctx), s.bury(ctx))
}

// apply tells Temporal every revision that it has not accepted.
func (s *Sweep) apply(ctx context.Context) error {
	lagging, err := s.store.Lagging(ctx, sweepBatch)
	if err != nil {
		return err
	}
	_, err = each(ctx, lagging, s.loops.Apply)
	return err
}

// overdue nudges loops whose next result should long be there. Those of regions
// without a worker are not even read: however many, and however late, they must
// not take the places of loops that can be helped.
func (s *Sweep) overdue(ctx context.Context) error {
	live, err := s.store.LiveRegions(ctx, leaseSilence)
	if err != nil || len(live) == 0 {
		return err
	}
	late, err := s.store.Overdue(ctx, s.now(), overdueGrace, slices.Sorted(maps.Keys(live)), sweepBatch)
	if err != nil {
		return err
	}
	_, err = each(ctx, late, s.nudge)
	return err
}

func (s *Sweep) nudge(ctx context.Context, loop vigil.Loop) error {
	if err := s.loops.Nudge(ctx, loop); err != nil {
		return err
	}
	return s.store.MarkNudged(ctx, loop.CheckID, loop.Region, s.now())
}

// bury ends the loops that have a tombstone: told first, terminated when they
// do not listen.
func (s *Sweep) bury(ctx context.Context) error {
	stones, err := s.store.Tombstones(ctx, sweepBatch)
	if err != nil {
		return err
	}
	for _, stone := range stones {
		running, err := s.loops.Running(ctx, stone)
		if err != nil {
			return err
		}
		if running {
			if s.now().Sub(stone.CreatedAt) <= stopGrace {
				continue
			}
			if err := s.terminate(ctx, stone); err != nil {
				return err
			}
		}
		if s.incidents != nil { // one region less has a vote, or the check is gone
			if err := s.incidents.Look(ctx, stone.CheckID); err != nil {
				return err
			}
		}
		if err := s.store.BuryLoop(ctx, stone); err != nil {
			return err
		}
	}
	return nil
}

// terminate ends a loop whose tombstone stands. While it does the region cannot
// be added again: whatever loop has the name is the old one.
func (s *Sweep) terminate(ctx context.Context, stone vigil.Tombstone) error {
	ctx, cancel := context.WithTimeout(ctx, terminateTime)
	defer cancel()
	return s.store.HoldTombstone(ctx, stone, func(ctx context.Context) error {
		return s.loops.Terminate(ctx, stone.CheckID, stone.Region)
	})
}

// housekeeping makes room for the days to come and drops what is past its time.
func (s *Sweep) housekeeping(ctx context.Context) error {
	now := s.now()
	_, expired := s.upkeep.ExpireChecks(ctx, now)
	return errors.Join(expired, s.upkeep.EnsurePartitions(ctx, now), s.upkeep.DropExpired(ctx, now))
}
