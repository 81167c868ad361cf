//go:build !slim

package workers_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"

	"vigil"
	"vigil/storage"
	"vigil/workers"
)

// hesitant is a ledger whose reader of tombstones acts on them much later.
type hesitant struct {
	*storage.Store
	read  []vigil.Tombstone
	times atomic.Int32
}

func (h *hesitant) Tombstones(ctx context.Context, limit int) ([]vigil.Tombstone, error) {
	if h.times.Add(1) <= 2 {
		return h.read, nil
	}
	return h.Store.Tombstones(ctx, limit)
}

// DropExpired makes the store a keeper, too.
func (h *hesitant) DropExpired(ctx context.Context, now time.Time) error {
	return h.Store.DropExpired(ctx, now, storage.DefaultRetention())
}

// TestRegionThatIsBackKeepsItsLoop holds that a sweep terminates a loop that does
// not stop, as that of a region without a worker, and never one that was asked for
// since.
func TestRegionThatIsBackKeepsItsLoop(t *testing.T) {
	t.Parallel()
	const ewr, fra = "na-east-ewr", "eu-central-fra"
	b := newBench(t, ewr, fra)
	quiet := slog.New(slog.DiscardHandler)
	loops := workers.NewLoops(b.temporal, b.store, quiet)
	regions := func(regions ...string) {
		t.Helper()
		_, err := b.store.UpdateCheck(t.Context(), b.org.ID, b.check.ID, vigil.PlanOf(vigil.TierEnterprise, time.Second),
			func(c *vigil.Check) error { c.Regions = regions; return nil })
		b.ok(err)
	}
	apply := func() {
		t.Helper()
		rows, err := b.store.Loops(t.Context(), b.org.ID, b.check.ID)
		b.ok(err)
		for _, row := range rows {
			b.ok(loops.Apply(t.Context(), row))
		}
	}
	running := func() bool {
		t.Helper()
		d, err := b.temporal.DescribeWorkflowExecution(t.Context(), vigil.LoopID(b.check.ID, fra), "")
		b.ok(err)
		return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	}
	eventually := func(fact string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not within 30 s: %s", fact)
			}
		}
	}

	apply()
	regions(ewr)
	stones, err := b.store.Tombstones(t.Context(), 10)
	b.ok(err)
	regions(ewr, fra)
	apply()
	ledger := &hesitant{Store: b.store, read: stones}
	later := func() time.Time { return time.Now().Add(time.Minute) } // the old loop had its time to stop
	sweep := workers.NewSweep(loops, ledger, ledger, later, quiet)
	b.ok(sweep.Start(t.Context()))
	defer func() { b.ok(sweep.Stop()) }()
	eventually("the late sweep is over", func() bool { return ledger.times.Load() > 2 })
	if len(stones) != 1 || !running() {
		t.Errorf("the loop of a region that is back was ended by %+v", stones)
	}

	regions(ewr)
	eventually("the loop is terminated", func() bool { return !running() })
	eventually("it is buried", func() bool {
		stones, err := b.store.Tombstones(t.Context(), 10)
		b.ok(err)
		return len(stones) == 0
	})
}
