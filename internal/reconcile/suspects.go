// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

const (
	// suspectGrace is how late a loop is, beyond its deadline, when its workflow is
	// looked at: a loop whose workflow was terminated need not wait for overdueGrace.
	suspectGrace = 10 * time.Second
	// suspectsPerPass bounds the requests of a pass: an overloaded platform is late
	// everywhere, and describing its workflows helps nothing.
	suspectsPerPass = 20
	// A workflow that runs is looked at again after a wait, which doubles.
	minSuspectWait = 20 * time.Second
	maxSuspectWait = 10 * time.Minute
)

// suspects finds late loops that do not go on by themselves: an operator has terminated or
// cancelled their workflows, or their turns are at workers that are gone. The rows of these turns
// may name a worker that lives: the one that has the turn died before it had recorded that, or
// dropped it when it stopped. Or the worker lives and did not get the turn, since the answer of its
// poll was lost: the first turn of a loop may be so long before its slot is due. A slow loop is left alone.
type suspects struct {
	store  loopStore
	holder func(context.Context, vigil.Loop) (vigil.TurnHolder, error)
	nudge  func(kind string, loop vigil.Loop) repair

	repairs *repairs
	now     func() time.Time

	looked map[loopKey]look

	mu    sync.Mutex
	turns map[loopKey]string // IDs of turns without a result at the last look
}

// loopKey names a loop.
type loopKey struct {
	check  uuid.UUID
	region string
}

// look is when a workflow was seen to run, and for how long it is left alone since.
type look struct {
	at   time.Time
	wait time.Duration
}

// inspect is one pass.
func (s *suspects) inspect(ctx context.Context, w work) error {
	live, err := s.store.LiveRegions(ctx, fleet.LeaseTimeout)
	if err != nil || len(live) == 0 {
		return err
	}
	late, err := s.store.Overdue(ctx, s.now(), suspectGrace, slices.Sorted(maps.Keys(live)), w.checks(), passLimit)
	if err != nil {
		return err
	}
	begin, err := s.store.NotBegun(ctx, suspectGrace, slices.Sorted(maps.Keys(live)), w.checks(), passLimit)
	if err != nil {
		return err
	}
	chosen := s.choose(together(late, begin))
	if len(chosen) == 0 {
		return nil
	}
	leases, err := s.store.LiveLeases(ctx, fleet.LeaseTimeout)
	if err != nil {
		return err
	}
	list := make([]repair, len(chosen))
	for i, loop := range chosen {
		list[i] = s.nudge(kindSuspect, loop)
		nudge := list[i].do
		list[i].putOff = nil // only a nudge is marked, and the next look has its own wait
		list[i].do = func(ctx context.Context, lease fleet.SweepLease) error {
			lost, err := s.lost(ctx, loop, leases)
			if err != nil || !lost {
				return err
			}
			return nudge(ctx, lease)
		}
	}
	return s.repairs.run(ctx, w, nudgeParallelism, list)
}

// together returns late loops, and those that have not begun and are not among them.
func together(late, begin []vigil.Loop) []vigil.Loop {
	known := make(map[loopKey]bool, len(late))
	for _, loop := range late {
		known[loopKey{loop.CheckID, loop.Region}] = true
	}
	return append(late, slices.DeleteFunc(begin, func(loop vigil.Loop) bool { return known[loopKey{loop.CheckID, loop.Region}] })...)
}

// lost reports whether no workflow of a loop runs, its turn is at a worker without a live lease,
// or the same turn has had no result at the last look either.
func (s *suspects) lost(ctx context.Context, loop vigil.Loop, leases []fleet.Lease) (bool, error) {
	holder, err := s.holder(ctx, loop)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.looked, loopKey{loop.CheckID, loop.Region}) // it was not looked at
		return false, err
	}
	if !holder.Running {
		return true, nil
	}
	worker := holder.Runs(&loop)
	if worker == "" {
		return false, nil
	}
	return !slices.Contains(leases, fleet.Lease{Worker: worker, Region: vigil.WorkerRegion(loop.Region)}) || s.neverBegan(&loop, holder), nil
}

// neverBegan reports whether the turn of a loop is one that had no result at the last look, and
// notes it for the next.
func (s *suspects) neverBegan(loop *vigil.Loop, holder vigil.TurnHolder) bool {
	key := loopKey{loop.CheckID, loop.Region}
	s.mu.Lock()
	defer s.mu.Unlock()
	if holder.ActivityID == loop.Turn.ActivityID && holder.RunID == loop.Turn.RunID {
		delete(s.turns, key)
		return false
	}
	turn, before := holder.RunID.String()+"/"+holder.ActivityID, s.turns[key]
	s.turns[key] = turn
	return turn == before
}

// choose returns the loops to look at now, and forgets those that are late no more.
func (s *suspects) choose(late []vigil.Loop) []vigil.Loop {
	now, looked := s.now(), make(map[loopKey]look, len(late))
	var chosen []vigil.Loop
	for _, loop := range late {
		key := loopKey{loop.CheckID, loop.Region}
		last, known := s.looked[key]
		if len(chosen) < suspectsPerPass && (!known || now.Sub(last.at) >= last.wait) {
			chosen = append(chosen, loop)
			last, known = look{now, min(max(2*last.wait, minSuspectWait), maxSuspectWait)}, true
		}
		if known {
			looked[key] = last
		}
	}
	s.looked = looked
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.turns, func(key loopKey, _ string) bool {
		_, late := looked[key]
		return !late
	})
	return chosen
}
