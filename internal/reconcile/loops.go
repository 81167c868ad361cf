// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// overdueGrace is how late a loop may be beyond its deadline before it is nudged.
const overdueGrace = time.Minute

// overloadGrace is that grace while a region is overloaded: its loops are late and not
// lost, and a nudge makes them later.
const overloadGrace = 5 * time.Minute

// How many loops one pass starts, and how many are started or signalled at a time: a busy
// server answers each slowly, and many in the same time.
const (
	startLimit = 1000
	// startsAhead is how many new loops of a region with a worker may wait for their first
	// turn. Their workflow tasks share a queue with those of running loops, which would wait
	// behind thousands.
	startsAhead = 128
	// roundsTime is for how long a pass begins further rounds.
	roundsTime = 5 * time.Second
	// overloadStarts is how many new loops an overloaded region gets in a second: each takes
	// time from those that run, and the API refuses more of them. It is as many for every
	// region while many are created at once.
	overloadStarts = 2
	// burstSize new loops within burstTime are a burst. Their starts take the processors that the
	// answers to the creations need, so that they come afterwards, or after burstPatience when there
	// is no end of it.
	burstSize     = 64
	burstTime     = time.Second
	burstPatience = 30 * time.Second

	startParallelism = 16
	nudgeParallelism = 8
	// reclassifyParallelism is how many loops are locked at a time to mark their results
	// again, which no caller waits for.
	reclassifyParallelism = 2
)

// The kinds of rows, for the log.
const (
	kindLoop      = "loop"
	kindNudge     = "nudge of a loop"
	kindSuspect   = "late loop"
	kindTombstone = "tombstone"
	kindResults   = "results of a deleted check"
	kindIncident  = "incident"
	kindVote      = "vote"
	kindDelivery  = "delivery"
	kindAdmitted  = "admitted delivery"
	kindRecovery  = "recovery"
	kindSilence   = "silent region"

	kindMaintenance  = "end of maintenance"
	kindReclassified = "results in maintenance"
)

// applyLagging applies every revision that Temporal has not accepted. New loops start as
// fast as their region begins their turns: while it does, the pass goes on, so that the machine
// bounds how many start and not the interval of the passes.
func (s *Sweep) applyLagging(ctx context.Context, w work) error {
	began := s.now()
	for second, applied := began, make(map[string]bool); ; {
		more, err := s.applyRound(ctx, w, applied)
		now := s.now()
		if err != nil || !more || !w.complete() || now.Sub(began) >= roundsTime {
			return err
		}
		if now.Sub(second) >= loopsInterval {
			second = now
			clear(applied)
		}
	}
}

// applyRound applies revisions of loops that are not among those applied in this second, adds
// them there, and reports whether another round may start more.
func (s *Sweep) applyRound(ctx context.Context, w work, applied map[string]bool) (more bool, err error) {
	lagging, err := s.store.Lagging(ctx, w.checks(), startLimit)
	if err != nil || len(lagging) == 0 {
		return false, err
	}
	busy, err := s.manyAreCreated(ctx, w, len(lagging))
	if err != nil {
		return false, err
	}
	room, err := s.roomToStart(ctx, w, busy, len(applied) == 0)
	if err != nil {
		return false, err
	}
	list := make([]repair, 0, len(lagging))
	for _, loop := range lagging {
		one := ofRegion(kindLoop, loop.CheckID, loop.Region)
		if s.repairs.paused(one) || applied[one.id] {
			continue // it takes no room
		}
		served := vigil.WorkerRegion(loop.Region)
		if left, bounded := room[served]; bounded && loop.Applied == 0 {
			if left <= 0 {
				continue
			}
			room[served] = left - 1
		}
		one.do = func(ctx context.Context, _ fleet.SweepLease) error { return s.loops.Apply(ctx, loop) }
		applied[one.id] = true
		list = append(list, one)
	}
	more = !busy && len(list) >= startParallelism && (len(list) < len(lagging) || len(lagging) == startLimit)
	return more, s.repairs.run(ctx, w, startParallelism, list)
}

// roomToStart returns how many new loops each region with a worker may get now, by vigil.WorkerRegion. In the first
// round of a second that is never none, so that loops whose first turn cannot begin do not keep
// others from starting.
func (s *Sweep) roomToStart(ctx context.Context, w work, busy, first bool) (map[string]int, error) {
	live, err := s.store.LiveRegions(ctx, fleet.LeaseTimeout)
	if err != nil {
		return nil, err
	}
	overloaded, err := s.store.OverloadedRegions(ctx, fleet.LeaseTimeout)
	if err != nil {
		return nil, err
	}
	starting, err := s.store.Starting(ctx, w.checks())
	if err != nil {
		return nil, err
	}
	least, few := 0, 0
	if first {
		least, few = startParallelism, overloadStarts
	}
	room := make(map[string]int, len(live))
	for region := range live {
		room[region] = max(least, startsAhead-starting[region])
		if _, late := overloaded[region]; late || busy {
			room[region] = few
		}
	}
	return room, nil
}

// manyAreCreated reports whether many checks are created at this moment, by any process: the rows
// count them.
func (s *Sweep) manyAreCreated(ctx context.Context, w work, lagging int) (bool, error) {
	if !s.creations.Reached(lagging) {
		return false, nil
	}
	now := s.now()
	recent, oldest, err := s.store.WaitingToStart(ctx, w.checks(), s.creations.Since(now))
	return s.creations.Reached(recent) && now.Sub(oldest) < burstPatience, err
}

// nudgeOverdue nudges loops whose next result is overdue. It does not read those of
// regions without a worker: however many they are, they must not displace loops
// that can be helped.
func (s *Sweep) nudgeOverdue(ctx context.Context, w work) error {
	live, err := s.store.LiveRegions(ctx, fleet.LeaseTimeout)
	if err != nil || len(live) == 0 {
		return err
	}
	overloaded, err := s.store.OverloadedRegions(ctx, fleet.LeaseTimeout)
	if err != nil {
		return err
	}
	for region := range overloaded {
		delete(live, region)
	}
	late, err := s.store.Overdue(ctx, s.now(), overdueGrace, slices.Sorted(maps.Keys(live)), w.checks(), passLimit)
	if err != nil {
		return err
	}
	lost, err := s.store.Overdue(ctx, s.now(), overloadGrace, slices.Sorted(maps.Keys(overloaded)), w.checks(), passLimit)
	if err != nil {
		return err
	}
	return s.nudge(ctx, w, append(late, lost...))
}

// longestNudgePause is for how long a loop is left alone at most whose nudge failed: without a
// turn it is silent until it is nudged.
const longestNudgePause = 10 * time.Second

// nudge nudges loops. One that cannot be nudged is put off, so that it does not displace those
// behind it, and stays one that must be nudged.
func (s *Sweep) nudge(ctx context.Context, w work, loops []vigil.Loop) error {
	list := make([]repair, len(loops))
	for i, loop := range loops {
		list[i] = s.nudgeOf(kindNudge, loop)
	}
	return s.repairs.run(ctx, w, nudgeParallelism, list)
}

// nudgeOf is the nudge of one loop.
func (s *Sweep) nudgeOf(kind string, loop vigil.Loop) repair {
	one := ofRegion(kind, loop.CheckID, loop.Region)
	one.longest = longestNudgePause
	one.do = func(ctx context.Context, lease fleet.SweepLease) error {
		if err := s.loops.Nudge(ctx, loop); err != nil {
			return err
		}
		return s.store.MarkNudged(ctx, lease, loop.CheckID, loop.Region)
	}
	one.putOff = func(ctx context.Context, lease fleet.SweepLease) error {
		return s.store.PutOffNudge(ctx, lease, loop.CheckID, loop.Region)
	}
	return one
}

// keepHouse creates the partitions of the days to come, drops what is expired and has
// the owners of keys that end soon mailed, when that is due.
func (s *Sweep) keepHouse(ctx context.Context, _ work) error {
	now := s.now()
	if !s.keptHouse.IsZero() && now.Sub(s.keptHouse) < housekeepingInterval {
		return nil
	}
	s.keptHouse = now
	_, expired := s.housekeeping.ExpireChecks(ctx, now)
	errs := []error{expired, s.housekeeping.EnsurePartitions(ctx, now), s.housekeeping.ExtendMaintenance(ctx)}
	if s.keyEnds != nil {
		errs = append(errs, s.keyEnds(ctx))
	}
	return errors.Join(append(errs, s.housekeeping.DropExpired(ctx, now))...)
}

// purgeOrganizations deletes what deleted organizations left.
func (s *Sweep) purgeOrganizations(ctx context.Context, _ work) error {
	return s.housekeeping.PurgeOrganizations(ctx, s.now())
}
