// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

const (
	// stopGrace is how long a loop may take to stop before it is terminated.
	stopGrace = 30 * time.Second
	// terminateTimeout bounds the termination of a loop: adding its region again
	// waits for it.
	terminateTimeout = 2 * time.Second
	// purgeTime bounds how long a pass deletes results.
	purgeTime = 2 * time.Second
)

// tombstoneStore keeps the tombstones of loops, and the results behind them.
type tombstoneStore interface {
	Tombstones(ctx context.Context, shards []int, limit int) ([]vigil.Tombstone, error)
	LockTombstone(ctx context.Context, stone vigil.Tombstone, do func(context.Context) error) error
	PurgeLoop(ctx context.Context, stone vigil.Tombstone) (done bool, err error)
}

// tombstones ends the loops that have a tombstone, and purges their results. These are
// two passes: the results of a large check must not keep other loops from ending.
type tombstones struct {
	store     tombstoneStore
	loops     loops
	incidents incidents // nil: incidents are left out
	repairs   *repairs
	now       func() time.Time

	mu    sync.Mutex
	ended []vigil.Tombstone // of loops that have ended and whose results are not all purged
}

// tombstoneKey identifies a tombstone by what never changes, so that two readings of
// it are equal.
type tombstoneKey struct {
	check  uuid.UUID
	region string
	at     int64
}

func keyOf(stone vigil.Tombstone) tombstoneKey {
	return tombstoneKey{stone.CheckID, stone.Region, stone.CreatedAt.UnixMicro()}
}

// end is one pass: it ends the loops that have a tombstone, first by a signal, then by
// termination. Rows that are known to fail are read as well, so that they do not displace
// others.
func (t *tombstones) end(ctx context.Context, w work) error {
	t.mu.Lock()
	t.ended = slices.DeleteFunc(t.ended, func(stone vigil.Tombstone) bool { // another process has its shard now
		_, held := w.leaseOf(stone.CheckID)
		return !held
	})
	ended := make(map[tombstoneKey]bool, len(t.ended))
	for _, stone := range t.ended {
		ended[keyOf(stone)] = true
	}
	t.mu.Unlock()
	stones, err := t.store.Tombstones(ctx, w.checks(), passLimit+len(ended)+t.repairs.pausedOf(kindTombstone))
	if err != nil {
		return err
	}
	var list []repair
	for _, stone := range stones {
		if ended[keyOf(stone)] {
			continue
		}
		one := ofRegion(kindTombstone, stone.CheckID, stone.Region)
		one.do = func(ctx context.Context, _ fleet.SweepLease) error { return t.endLoop(ctx, stone) }
		list = append(list, one)
	}
	return t.repairs.run(ctx, w, nudgeParallelism, list)
}

// endLoop stops the loop of a tombstone. Once it has ended, its results are purged.
func (t *tombstones) endLoop(ctx context.Context, stone vigil.Tombstone) error {
	running, err := t.loops.Running(ctx, stone)
	if err != nil {
		return err
	}
	if running {
		if t.now().Sub(stone.CreatedAt) <= stopGrace {
			return nil
		}
		if err := t.terminate(ctx, stone); err != nil {
			return err
		}
	}
	if t.incidents != nil { // one region less has a vote, or the check is gone
		if err := t.incidents.Refresh(ctx, stone.CheckID); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = append(t.ended, stone)
	return nil
}

// terminate kills a loop while holding its tombstone, so that its region cannot be
// added again meanwhile: the workflow with that ID is the old one.
func (t *tombstones) terminate(ctx context.Context, stone vigil.Tombstone) error {
	ctx, cancel := context.WithTimeout(ctx, terminateTimeout)
	defer cancel()
	return t.store.LockTombstone(ctx, stone, func(ctx context.Context) error {
		return t.loops.Terminate(ctx, stone.CheckID, stone.Region)
	})
}

// purge is one pass: it deletes the results behind each tombstone in turn, in small
// portions, until all are gone or the time is up.
func (t *tombstones) purge(ctx context.Context, w work) error {
	for began := t.now(); t.now().Sub(began) < purgeTime; {
		t.mu.Lock()
		stones := slices.Clone(t.ended)
		t.mu.Unlock()
		var tried bool
		list := make([]repair, len(stones))
		for i, stone := range stones {
			list[i] = ofRegion(kindResults, stone.CheckID, stone.Region)
			list[i].do = func(ctx context.Context, _ fleet.SweepLease) error {
				if t.now().Sub(began) >= purgeTime {
					return nil
				}
				tried = true
				return t.purgeLoop(ctx, stone)
			}
		}
		if err := t.repairs.run(ctx, w, 1, list); err != nil || !tried {
			return err
		}
	}
	return nil
}

// purgeLoop deletes one portion, and forgets the tombstone when none is left.
func (t *tombstones) purgeLoop(ctx context.Context, stone vigil.Tombstone) error {
	done, err := t.store.PurgeLoop(ctx, stone)
	if err != nil || !done {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = slices.DeleteFunc(t.ended, func(other vigil.Tombstone) bool { return keyOf(other) == keyOf(stone) })
	return nil
}
