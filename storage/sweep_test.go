// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// sweepLength is the length of leases that do not expire during a test.
const sweepLength = time.Hour

// renewSweep renews the leases of a control process that uses all that it has.
func renewSweep(tb testing.TB, s *storage.Store, process string, length time.Duration) []fleet.SweepLease {
	tb.Helper()
	share, err := s.RenewSweep(tb.Context(), process, nil, length)
	if err != nil {
		tb.Fatal(err)
	}
	return share.Leases
}

// sweeper is a control process that leaves what exceeds its share.
type sweeper struct {
	store  *storage.Store
	name   string
	unused []fleet.SweepLease
}

// renew renews its leases and returns what it uses.
func (w *sweeper) renew(ctx context.Context, length time.Duration) ([]fleet.SweepLease, error) {
	share, err := w.store.RenewSweep(ctx, w.name, w.unused, length)
	if err != nil {
		return nil, err
	}
	used := min(share.Size, len(share.Leases))
	w.unused = share.Leases[used:]
	return share.Leases[:used], nil
}

// leaseOf returns the lease of a check's shard, of a process that has all shards.
func leaseOf(tb testing.TB, s *storage.Store, checkID uuid.UUID) fleet.SweepLease {
	tb.Helper()
	for _, lease := range renewSweep(tb, s, "test", sweepLength) {
		if lease.Shard == fleet.SweepShard(checkID) {
			return lease
		}
	}
	tb.Fatal("the process does not have the shard")
	return fleet.SweepLease{}
}

// lease is leaseOf for the check of the fixture.
func (a *alerts) lease() fleet.SweepLease {
	a.Helper()
	return leaseOf(a.T, a.store, a.check.ID)
}

func shardsOf(leases []fleet.SweepLease) []int {
	shards := make([]int, len(leases))
	for i, lease := range leases {
		shards[i] = lease.Shard
	}
	return shards
}

func TestSweepLeases(t *testing.T) {
	t.Parallel()
	const all = fleet.SweepShards + 1

	t.Run("OneProcessHasAllAndKeepsItsFences", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		first := renewSweep(t, s, "a", sweepLength)
		if want := append(fleet.EverySweepShard(), fleet.CommonShard); !slices.Equal(shardsOf(first), want) {
			t.Errorf("has %v, want %v", shardsOf(first), want)
		}
		equal(t, renewSweep(t, s, "a", sweepLength), first)
	})

	t.Run("ProcessesShareAllShards", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		processes := make(map[string]*sweeper)
		renew := func(process string) []fleet.SweepLease {
			t.Helper()
			if processes[process] == nil {
				processes[process] = &sweeper{store: s, name: process}
			}
			used, err := processes[process].renew(t.Context(), sweepLength)
			if err != nil {
				t.Fatal(err)
			}
			return used
		}
		for _, step := range []struct {
			process string
			has     int
		}{
			{"a", 17}, {"b", 0}, {"a", 9}, {"b", 0}, {"a", 9}, {"b", 8}, // half of 17, rounded up, once it is free
			{"c", 0}, {"a", 6}, {"b", 6}, {"c", 0}, {"a", 6}, {"b", 6}, {"c", 5}, {"a", 6}, // a third
		} {
			if got := renew(step.process); len(got) != step.has {
				t.Errorf("%s has %v, want %d of them", step.process, shardsOf(got), step.has)
			}
		}
		var held []int
		for _, process := range []string{"a", "b", "c"} {
			held = append(held, shardsOf(renew(process))...)
		}
		slices.Sort(held)
		if len(held) != all || len(slices.Compact(held)) != all {
			t.Errorf("the processes have %v", held)
		}
	})

	t.Run("WhoDoesNotRenewLosesAllWithANewFence", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		before := renewSweep(t, s, "a", time.Millisecond)
		eventually(t, "another process has all", func() bool { return len(renewSweep(t, s, "b", sweepLength)) == all })
		for i, lease := range renewSweep(t, s, "b", sweepLength) {
			if lease.Fence <= before[i].Fence {
				t.Errorf("shard %d changed hands with fence %d after %d", lease.Shard, lease.Fence, before[i].Fence)
			}
		}
		if got := renewSweep(t, s, "a", sweepLength); len(got) != 0 {
			t.Errorf("a process that was away has %v at once", shardsOf(got))
		}
	})

	t.Run("AnExpiredLeaseIsNotRenewedButTakenAgain", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		before := renewSweep(t, s, "a", 0)
		for i, lease := range renewSweep(t, s, "a", sweepLength) {
			if lease.Fence != before[i].Fence+1 {
				t.Errorf("shard %d has fence %d after %d", lease.Shard, lease.Fence, before[i].Fence)
			}
		}
	})

	t.Run("ReleaseFreesThemAtOnce", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		renewSweep(t, s, "a", sweepLength)
		if err := s.ReleaseSweep(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if got := renewSweep(t, s, "b", sweepLength); len(got) != all {
			t.Errorf("the other process has %v", shardsOf(got))
		}
	})

	t.Run("TakenAtTheSameTimeEachHasOneHolder", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		const processes = 8
		held := make(chan []fleet.SweepLease, processes)
		for i := range processes {
			go func() {
				share, err := s.RenewSweep(t.Context(), string(rune('a'+i)), nil, sweepLength)
				if err != nil {
					t.Error(err)
				}
				held <- share.Leases
			}()
		}
		var all []int
		for range processes {
			all = append(all, shardsOf(<-held)...)
		}
		slices.Sort(all)
		if len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Errorf("a shard has two holders: %v", all)
		}
	})
}

// TestSweepShards proves that Go and SQL agree on the shard of a check, and that a pass
// reads the rows of its own shards only.
func TestSweepShards(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	const checks = 40
	for range checks {
		newCheck(t, s, draft(org.ID, newark))
	}
	found := 0
	for _, shard := range fleet.EverySweepShard() {
		loops, err := s.Lagging(t.Context(), []int{shard}, checks)
		if err != nil {
			t.Fatal(err)
		}
		found += len(loops)
		for _, loop := range loops {
			if fleet.SweepShard(loop.CheckID) != shard {
				t.Errorf("check %s is of shard %d, and was read for %d", loop.CheckID, fleet.SweepShard(loop.CheckID), shard)
			}
		}
	}
	if found != checks {
		t.Errorf("the shards have %d loops, want %d", found, checks)
	}
	if loops, err := s.Lagging(t.Context(), nil, checks); err != nil || len(loops) != 0 {
		t.Errorf("without a shard %d loops were read, %v", len(loops), err)
	}
}

// TestFence proves that a process whose shard another one has taken marks nothing.
func TestFence(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	id := a.open(a.fails(newark)).Incident.ID
	stale := a.lease()
	stale.Fence--
	delivery := vigil.PendingDelivery{IncidentID: id, ChannelID: a.channels[vigil.ChannelWebhook].ID}
	vote := vigil.UnhandledVote{CheckID: a.check.ID, Region: newark}
	at := epoch().Add(time.Hour)
	marks := func(lease fleet.SweepLease) {
		t.Helper()
		err := errors.Join(
			// First, since it takes the waits of the incident and the vote away.
			a.store.MarkSilence(t.Context(), lease, vigil.RegionSilence{CheckID: a.check.ID, Region: newark, Silent: true}),
			a.store.MarkNudged(t.Context(), lease, a.check.ID, newark),
			a.store.MarkIncidentSwept(t.Context(), lease, id, at),
			a.store.MarkDeliverySwept(t.Context(), lease, delivery, at),
			a.store.MarkVoteSwept(t.Context(), lease, vote, at),
		)
		if err != nil {
			t.Error(err)
		}
	}
	marked := func() int {
		t.Helper()
		return a.count(`SELECT (SELECT count(*) FROM check_regions WHERE nudged_at IS NOT NULL)
			+ (SELECT count(*) FROM incidents WHERE sweep_wait_ms > 0) + (SELECT count(*) FROM deliveries WHERE sweep_wait_ms > 0)
			+ (SELECT count(*) FROM region_votes WHERE sweep_wait_ms > 0) + (SELECT count(*) FROM region_votes WHERE silent)`)
	}
	marks(stale)
	if n := marked(); n != 0 {
		t.Errorf("%d marks under an old fence", n)
	}
	marks(a.lease())
	if n := marked(); n != 5 {
		t.Errorf("%d marks under the fence, want 5", n)
	}
}

func TestTemporalGeneration(t *testing.T) {
	t.Parallel()
	generation := func(t *testing.T, s *storage.Store) int64 {
		t.Helper()
		return epochOf(t, s).Generation
	}
	advance := func(t *testing.T, s *storage.Store, lease fleet.SweepLease, to int64) bool {
		t.Helper()
		changed, err := s.AdvanceTemporalGeneration(t.Context(), lease, to)
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	common := func(t *testing.T, s *storage.Store) fleet.SweepLease {
		t.Helper()
		return renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	}
	lagging := func(t *testing.T, s *storage.Store) []vigil.Loop {
		t.Helper()
		loops, err := s.Lagging(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return loops
	}

	t.Run("AdvancesOnceAndUnderTheFenceOnly", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		lease := common(t, s)
		if old := (fleet.SweepLease{Shard: lease.Shard, Fence: lease.Fence - 1}); advance(t, s, old, 1) || generation(t, s) != 0 {
			t.Error("advanced under an old fence")
		}
		for _, want := range []bool{true, false} {
			if got := advance(t, s, lease, 1); got != want || generation(t, s) != 1 {
				t.Errorf("changed %v, want %v; the generation is %d", got, want, generation(t, s))
			}
		}
	})

	t.Run("LoopsThatAnOlderStoreAcceptedLag", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		on, off := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
		off = update(t, s, off, func(c *vigil.Check) { c.Enabled = false })
		for _, loop := range lagging(t, s) {
			if err := s.MarkApplied(t.Context(), loop); err != nil {
				t.Fatal(err)
			}
		}
		lease := common(t, s)
		advance(t, s, lease, 1) // the first generation: nothing was lost
		if loops := lagging(t, s); len(loops) != 0 {
			t.Errorf("%d loops lag in the first generation", len(loops))
		}
		early := loopOf(t, s, on, newark)
		advance(t, s, lease, 2)
		loops := lagging(t, s)
		if len(loops) != 1 || loops[0].CheckID != on.ID || loops[0].Generation != 2 {
			t.Fatalf("%+v lag, want the active loop", loops)
		}
		if err := s.MarkApplied(t.Context(), early); err != nil { // a signal that the lost store accepted
			t.Fatal(err)
		}
		if got := lagging(t, s); len(got) != 1 {
			t.Error("a signal to the lost store counts for the next one")
		}
		if err := s.MarkApplied(t.Context(), loops[0]); err != nil {
			t.Fatal(err)
		}
		if got := lagging(t, s); len(got) != 0 {
			t.Errorf("%+v still lag", got)
		}
		update(t, s, off, func(c *vigil.Check) { c.Enabled = true })
		if got := lagging(t, s); len(got) != 1 || got[0].CheckID != off.ID {
			t.Errorf("%+v lag, want the loop that was enabled", got)
		}
	})

	t.Run("OpenIncidentsAndDeliveriesAreStalled", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		next := epoch().Add(10 * time.Hour)
		a.record(a.claim(id, vigil.ChannelWebhook), "status", &next) // waits for its next attempt
		stalled := func(now time.Time) (incidents, deliveries int) {
			t.Helper()
			open, err := a.store.StalledIncidents(t.Context(), now, fleet.EverySweepShard(), 10)
			if err != nil {
				t.Fatal(err)
			}
			due, err := a.store.StalledDeliveries(t.Context(), now, fleet.EverySweepShard(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(open), len(due)
		}
		lease := common(t, a.store)
		advance(t, a.store, lease, 1)
		if incidents, deliveries := stalled(epoch()); incidents+deliveries != 0 {
			t.Errorf("%d incidents and %d deliveries are stalled in the first generation", incidents, deliveries)
		}
		advance(t, a.store, lease, 2)
		if incidents, deliveries := stalled(epoch()); incidents != 1 || deliveries != 1 {
			t.Errorf("%d incidents and %d deliveries are stalled, want one of each", incidents, deliveries)
		}
		later := time.Now().Add(time.Hour) // the loss is stamped by the database's clock
		if err := a.store.MarkIncidentSwept(t.Context(), a.lease(), id, later); err != nil {
			t.Fatal(err)
		}
		delivery := vigil.PendingDelivery{IncidentID: id, ChannelID: a.channels[vigil.ChannelWebhook].ID}
		if err := a.store.MarkDeliverySwept(t.Context(), a.lease(), delivery, later); err != nil {
			t.Fatal(err)
		}
		if incidents, deliveries := stalled(epoch()); incidents+deliveries != 0 {
			t.Errorf("%d incidents and %d deliveries are stalled after their repair", incidents, deliveries)
		}
	})
}
