// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// renewTimeout bounds a renewal, so that two attempts fit into the length of a lease.
const renewTimeout = fleet.SweepLeaseTimeout / 2

// shardStore keeps the leases of the sweep's shards.
type shardStore interface {
	// RenewSweep frees what the process does not use any more, and returns what it has.
	RenewSweep(ctx context.Context, process string, unused []fleet.SweepLease, length time.Duration) (fleet.SweepShare, error)
	ReleaseSweep(ctx context.Context, process string) error
}

// shards are what this process has of the sweep's work. What it could not renew in time
// by its own clock it does not have, even if the rows still name it: a process that was frozen, or
// cut off, finds out by itself.
type shards struct {
	store   shardStore
	process string
	now     func() time.Time // with a monotonic reading, which runs on while a process is frozen
	log     *slog.Logger

	mu     sync.Mutex
	fences map[int]int64 // of the shards of the last renewal
	until  time.Time     // when their leases end

	unused []fleet.SweepLease // beyond the share; used by renew alone
}

// keep renews the leases until ctx ends. err is the result of the first renewal.
func (s *shards) keep(ctx context.Context, err error) {
	for failing := false; ctx.Err() == nil; err = s.renew(ctx) {
		if err != nil && !failing {
			s.log.WarnContext(ctx, "the sweep's leases were not renewed, retrying", "error", err)
		}
		failing = err != nil
		_ = timing.Sleep(ctx, fleet.SweepLeaseRenewal) // the loop sees whether ctx has ended
	}
}

// renew renews the leases. They end by this process's clock earlier than by the
// database's, since they count from before the request. What exceeds the share is not worked on
// from now on, and is free for others with the next renewal: a request without an answer then
// never gives away what this process believes to have.
func (s *shards) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	until := s.now().Add(fleet.SweepLeaseTimeout)
	share, err := s.store.RenewSweep(ctx, s.process, s.unused, fleet.SweepLeaseTimeout)
	if err != nil {
		return err
	}
	kept := min(share.Size, len(share.Leases))
	s.unused = share.Leases[kept:]
	fences := make(map[int]int64, kept)
	for _, lease := range share.Leases[:kept] {
		fences[lease.Shard] = lease.Fence
	}
	s.mu.Lock()
	before := s.fences
	s.fences, s.until = fences, until
	s.mu.Unlock()
	if !maps.Equal(before, fences) {
		s.log.InfoContext(ctx, "shards of the sweep changed hands", "process", s.process,
			"held", len(fences), "taken", changed(fences, before), "lost", changed(before, fences))
	}
	return nil
}

// changed returns the shards of a that b does not have with the same fence.
func changed(a, b map[int]int64) []int {
	var list []int
	for shard, fence := range a {
		if b[shard] != fence {
			list = append(list, shard)
		}
	}
	slices.Sort(list)
	return list
}

// release gives up all shards.
func (s *shards) release(ctx context.Context) error {
	s.mu.Lock()
	s.fences = nil
	s.mu.Unlock()
	return s.store.ReleaseSweep(ctx, s.process)
}

// count returns how many shards this process has.
func (s *shards) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.valid() {
		return 0
	}
	return len(s.fences)
}

// valid requires that mu is held.
func (s *shards) valid() bool { return timing.Age(s.now(), s.until) < 0 }

// fence returns the fence of a shard, 0 when this process does not have it.
func (s *shards) fence(shard int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.valid() {
		return 0
	}
	return s.fences[shard]
}

// current returns the work of a pass that starts now.
func (s *shards) current() work {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.valid() {
		return work{}
	}
	return work{shards: s, fences: s.fences} // which is replaced, never changed
}

// work is the shards of one pass, with the fences under which it reads its rows.
type work struct {
	shards *shards
	fences map[int]int64
}

// checks returns the shards of checks, in their order.
func (w work) checks() []int {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.fences)), func(shard int) bool { return shard == fleet.CommonShard })
}

// lease returns the lease of a shard. ok is false when this process does not have it any
// more, or has it again: what the pass has read is old then.
func (w work) lease(shard int) (lease fleet.SweepLease, ok bool) {
	fence, held := w.fences[shard]
	if !held || w.shards.fence(shard) != fence {
		return fleet.SweepLease{}, false
	}
	return fleet.SweepLease{Shard: shard, Fence: fence}, true
}

// complete reports whether this process still has all of these shards.
func (w work) complete() bool {
	for shard := range w.fences {
		if _, ok := w.lease(shard); !ok {
			return false
		}
	}
	return true
}

// leaseOf is lease for the shard of a check.
func (w work) leaseOf(checkID uuid.UUID) (lease fleet.SweepLease, ok bool) {
	return w.lease(fleet.SweepShard(checkID))
}
