// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package reconcile_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/reconcile"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// staleStore is a store whose first two reads of the tombstones are out of date.
type staleStore struct {
	*storage.Store
	stale []vigil.Tombstone
	reads atomic.Int32
}

func (s *staleStore) Tombstones(ctx context.Context, shards []int, limit int) ([]vigil.Tombstone, error) {
	if s.reads.Add(1) <= 2 {
		return s.stale, nil
	}
	return s.Store.Tombstones(ctx, shards, limit)
}

// SweepWork has the tombstones read, stale or not.
func (s *staleStore) SweepWork(ctx context.Context, now time.Time) (fleet.Work, error) {
	work, err := s.Store.SweepWork(ctx, now)
	work.Tombstones = true
	return work, err
}

// DropExpired completes the housekeeping.
func (s *staleStore) DropExpired(ctx context.Context, now time.Time) error {
	return s.Store.DropExpired(ctx, now, storage.DefaultRetention())
}

// TestReturningRegionKeepsItsLoop proves that the sweep terminates a loop that does not
// stop, such as that of a region without a worker, but never one whose region was
// added again since.
func TestReturningRegionKeepsItsLoop(t *testing.T) {
	t.Parallel()
	const ewr, fra = "na-east-ewr", "eu-central-fra"
	p := workerstest.Start(t, ewr, fra)
	quiet := slog.New(slog.DiscardHandler)
	loops := dispatch.NewLoops(p.Temporal, p.Store, quiet)
	regions := func(regions ...string) {
		t.Helper()
		_, err := p.Store.UpdateCheck(t.Context(), p.Org.ID, p.Check.ID, account.PlanOf(account.TierEnterprise, time.Second),
			func(c *vigil.Check) error { c.Regions = regions; return nil })
		p.OK(err)
	}
	apply := func() {
		t.Helper()
		rows, err := p.Store.Loops(t.Context(), p.Org.ID, p.Check.ID)
		p.OK(err)
		for _, row := range rows {
			p.OK(loops.Apply(t.Context(), row))
		}
	}
	running := func() bool {
		t.Helper()
		d, err := p.Temporal.DescribeWorkflowExecution(t.Context(), vigil.LoopID(p.Check.ID, fra), "")
		p.OK(err)
		return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	eventually := func(fact string, holds func() bool) {
		t.Helper()
		timingtest.Eventually(t, 30*time.Second, fact, holds)
	}

	apply()
	regions(ewr)
	stones, err := p.Store.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
	p.OK(err)
	regions(ewr, fra)
	apply()
	store := &staleStore{Store: p.Store, stale: stones}
	later := func() time.Time { return time.Now().Add(time.Minute) } // the old loop had its time to stop
	sweep := reconcile.New(reconcile.Options{
		Process: "test", Loops: loops, Store: store, Housekeeping: store, Away: dispatch.Away, Now: later, Log: quiet,
	})
	sweep.Start(t.Context())
	defer func() { p.OK(sweep.Stop()) }()
	eventually("the sweep with stale tombstones is over", func() bool { return store.reads.Load() > 2 })
	if len(stones) != 1 || !running() {
		t.Errorf("the loop of a returning region was ended by %+v", stones)
	}

	regions(ewr)
	eventually("the loop is terminated", func() bool { return !running() })
	eventually("its tombstone is purged", func() bool {
		stones, err := p.Store.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
		p.OK(err)
		return len(stones) == 0
	})
}
