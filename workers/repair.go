package workers

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"vigil"
)

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

// burial is a tombstone by what never changes: two readings of it are equal.
type burial struct {
	check  uuid.UUID
	region string
	at     int64
}

func burialOf(stone vigil.Tombstone) burial {
	return burial{stone.CheckID, stone.Region, stone.CreatedAt.UnixMicro()}
}

// bury ends the loops that have a tombstone: told first, terminated when they
// do not listen. Then it clears the results of deleted checks for as long as it
// may: those that have many must not keep the loops of others from ending.
func (s *Sweep) bury(ctx context.Context) error {
	ended := make(map[burial]bool, len(s.ended))
	for _, stone := range s.ended {
		ended[burialOf(stone)] = true
	}
	stones, err := s.store.Tombstones(ctx, sweepBatch+len(s.ended))
	if err != nil {
		return err
	}
	for _, stone := range stones {
		if ended[burialOf(stone)] {
			continue
		}
		over, err := s.end(ctx, stone)
		if err != nil {
			return err
		}
		if over {
			s.ended = append(s.ended, stone)
		}
	}
	return s.clear(ctx)
}

// end says whether the loop of a tombstone has ended, and sees to it that it does.
func (s *Sweep) end(ctx context.Context, stone vigil.Tombstone) (over bool, err error) {
	running, err := s.loops.Running(ctx, stone)
	if err != nil {
		return false, err
	}
	if running {
		if s.now().Sub(stone.CreatedAt) <= stopGrace {
			return false, nil
		}
		if err := s.terminate(ctx, stone); err != nil {
			return false, err
		}
	}
	if s.incidents != nil { // one region less has a vote, or the check is gone
		if err := s.incidents.Look(ctx, stone.CheckID); err != nil {
			return false, err
		}
	}
	return true, nil
}

// clear removes the results of checks that are gone in small portions, each
// tombstone's in turn, until all are closed or the time is up.
func (s *Sweep) clear(ctx context.Context) error {
	for began := s.now(); len(s.ended) > 0 && s.now().Sub(began) < clearTime; {
		stone := s.ended[0]
		done, err := s.store.PurgeLoop(ctx, stone)
		if err != nil {
			return err
		}
		if s.ended = s.ended[1:]; !done {
			s.ended = append(s.ended, stone)
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
