// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

func regionsOf(loops []vigil.Loop) []string {
	var regions []string
	for _, l := range loops {
		regions = append(regions, l.Region)
	}
	slices.Sort(regions)
	return regions
}

func TestLagging(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	lagging := func() []string {
		t.Helper()
		loops, err := s.Lagging(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return regionsOf(loops)
	}
	mark := func(revision int64) {
		t.Helper()
		if err := s.MarkApplied(t.Context(), vigil.Loop{CheckID: c.ID, Region: newark, Desired: revision}); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, lagging(), []string{frankfurt, newark})
	mark(1)
	equal(t, lagging(), []string{frankfurt})
	update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
	equal(t, lagging(), []string{frankfurt, newark}) // a loop that must end is lagging too
	mark(2)
	mark(1) // an older revision that arrives late
	equal(t, lagging(), []string{frankfurt})
	if loops, err := s.Lagging(t.Context(), fleet.EverySweepShard(), 1); err != nil || len(loops) != 1 || loops[0].Active {
		t.Errorf("%+v, %v", loops, err)
	}
}

func TestStarting(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	newLocation(t, s, org.ID, office)
	newLocation(t, s, org.ID, "loc-shop")
	c := newCheck(t, s, draft(org.ID, newark, frankfurt, office, "loc-shop"))
	want := func(counts map[string]int) {
		t.Helper()
		starting, err := s.Starting(t.Context(), fleet.EverySweepShard())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, starting, counts)
	}
	mark := func(region string, revision int64) {
		t.Helper()
		if err := s.MarkApplied(t.Context(), vigil.Loop{CheckID: c.ID, Region: region, Desired: revision}); err != nil {
			t.Fatal(err)
		}
	}
	want(map[string]int{}) // Temporal does not know them yet
	mark(newark, 1)
	mark(frankfurt, 1)
	want(map[string]int{newark: 1, frankfurt: 1})
	mark(office, 1)
	mark("loc-shop", 1)
	want(map[string]int{newark: 1, frankfurt: 1, vigil.LocationsRegion: 2}) // the same workers run them
	if err := s.ClaimLoops(t.Context(), fleet.Lease{Worker: "a", Region: newark}, []uuid.UUID{c.ID}); err != nil {
		t.Fatal(err)
	}
	want(map[string]int{frankfurt: 1, vigil.LocationsRegion: 2})
	update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
	want(map[string]int{})
}

func TestWaitingToStart(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	want := func(after time.Time, recent int, oldest time.Time) {
		t.Helper()
		n, first, err := s.WaitingToStart(t.Context(), fleet.EverySweepShard(), after)
		if err != nil {
			t.Fatal(err)
		}
		if n != recent || !first.Equal(oldest) {
			t.Errorf("%d loops since %v, the oldest of %v; want %d, %v", n, after, first, recent, oldest)
		}
	}
	want(time.Time{}, 0, time.Time{})
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	began := c.CreatedAt
	want(began.Add(-time.Second), 2, began)
	want(began, 0, began)
	for _, region := range []string{newark, frankfurt} {
		if err := s.MarkApplied(t.Context(), vigil.Loop{CheckID: c.ID, Region: region, Desired: 1}); err != nil {
			t.Fatal(err)
		}
	}
	want(time.Time{}, 0, time.Time{})
}

// TestNotBegun finds the loop whose first turn no worker has begun, long before its first slot is due.
func TestNotBegun(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	change := func(set string) {
		t.Helper()
		if _, err := s.DB().ExecContext(t.Context(), "UPDATE check_regions SET "+set+" WHERE region = ?", newark); err != nil {
			t.Fatal(err)
		}
	}
	want := func(fact string, regions ...string) {
		t.Helper()
		loops, err := s.NotBegun(t.Context(), 10*time.Second, []string{newark}, fleet.EverySweepShard(), 10)
		if got := regionsOf(loops); err != nil || !slices.Equal(got, regions) {
			t.Errorf("%s: %v, %v; want %v", fact, got, err, regions)
		}
	}
	change("next_due = now() + interval '1 day', start_at = now() - interval '1 minute'")
	want("Temporal does not know it yet")
	started(t, s, c, newark, frankfurt)
	change("nudged_at = NULL")
	want("it has just started")
	change("applied_at = now() - interval '11 seconds'")
	want("none has begun for more than the grace", newark)
	change("nudged_at = now() - interval '11 seconds', nudge_wait_ms = 20000")
	want("it was nudged")
	change("nudge_wait_ms = 5000, worker = 'host/1'")
	want("a turn has begun")
	change("worker = '', active = false")
	want("the check is disabled")
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	off := draft(org.ID, singapore)
	off.Enabled = false
	newCheck(t, s, off)
	w := newWriter(t, s, storage.WriterOptions{})
	write(t, w, ok(c, newark, epoch()))
	next := loopOf(t, s, c, newark).NextDue
	grace := time.Minute
	overdue := func(now time.Time) []string {
		t.Helper()
		loops, err := s.Overdue(t.Context(), now, grace, []string{newark, frankfurt, singapore}, fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return regionsOf(loops)
	}

	// Temporal does not know them yet.
	late := epoch().Add(2*time.Minute + time.Second)
	equal(t, overdue(late), []string(nil))
	started(t, s, c, newark, frankfurt)
	equal(t, overdue(late), []string(nil)) // they have just started
	age := func(region string, by time.Duration) {
		t.Helper()
		const earlier = "UPDATE check_regions SET nudged_at = nudged_at - ? * interval '1 millisecond' WHERE region = ?"
		_, err := s.DB().ExecContext(t.Context(), earlier, by.Milliseconds(), region)
		if err != nil {
			t.Fatal(err)
		}
	}
	age(newark, grace)
	equal(t, overdue(late), []string{newark})
	age(frankfurt, grace)
	// Newark has the deadline of its result, 5 s; Frankfurt has the default deadline.
	equal(t, overdue(next.Add(5*time.Second+grace)), []string(nil))
	equal(t, overdue(next.Add(5*time.Second+grace+time.Microsecond)), []string{newark})
	equal(t, overdue(late), []string{frankfurt, newark})
	// One of a region without a line has no result to store, until it had time to go on.
	const blind = "INSERT INTO blind_regions (region, since, ended_at) VALUES (?0, ?1, ?2)"
	over := late.Add(-2*c.Interval - 5*time.Second - grace)
	for _, end := range []*time.Time{nil, new(over)} {
		if _, err := s.DB().NewRaw(blind, newark, epoch(), end).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, overdue(late), []string{frankfurt})
		if _, err := s.DB().ExecContext(t.Context(), "UPDATE blind_regions SET ended_at = ?", over.Add(-time.Microsecond)); err != nil {
			t.Fatal(err)
		}
		equal(t, overdue(late), []string{frankfurt, newark})
	}
	// Frankfurt is overdue for longer, but is left out when it is not asked for.
	loops, err := s.Overdue(t.Context(), late, grace, []string{newark}, fleet.EverySweepShard(), 1)
	if err != nil || !slices.Equal(regionsOf(loops), []string{newark}) {
		t.Errorf("%+v, %v", loops, err)
	}

	lease := leaseOf(t, s, c.ID)
	for i, wait := range []time.Duration{5, 10, 20, 40, 80, 160, 320, 600, 600} {
		if err := s.MarkNudged(t.Context(), lease, c.ID, newark); err != nil {
			t.Fatal(err)
		}
		age(newark, wait*time.Second-2*time.Second) // the test may take as long
		if got := overdue(late); !slices.Equal(got, []string{frankfurt}) {
			t.Errorf("before the end of wait %d: %v", i, got)
		}
		age(newark, 2*time.Second)
		if got := overdue(late); len(got) != 2 {
			t.Errorf("after the end of wait %d: %v", i, got)
		}
	}
}

func TestLeases(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ctx := t.Context()
	renew := func(worker string, regions ...string) {
		t.Helper()
		if _, err := s.RenewLease(ctx, fleet.Renewal{Worker: worker, Regions: regions}); err != nil {
			t.Fatal(err)
		}
	}
	live := func(silence time.Duration) []string {
		t.Helper()
		regions, err := s.LiveRegions(ctx, silence)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(regions))
	}
	silent := func(silence time.Duration) []fleet.Lease {
		t.Helper()
		leases, err := s.SilentLeases(ctx, silence)
		if err != nil {
			t.Fatal(err)
		}
		return leases
	}
	renew("w1", newark, frankfurt)
	renew("w2", frankfurt)
	equal(t, live(time.Minute), []string{frankfurt, newark})
	equal(t, silent(time.Minute), []fleet.Lease{})

	renew("w1", frankfurt) // does not serve Newark any more
	equal(t, live(time.Minute), []string{frankfurt})
	const age = "UPDATE worker_leases SET renewed_at = renewed_at - interval '10 s' WHERE worker = 'w1'"
	if _, err := s.DB().ExecContext(ctx, age); err != nil {
		t.Fatal(err)
	}
	equal(t, silent(9*time.Second), []fleet.Lease{{Worker: "w1", Region: frankfurt}})
	equal(t, live(9*time.Second), []string{frankfurt})
	if err := s.ReleaseLease(ctx, "w2"); err != nil {
		t.Fatal(err)
	}
	equal(t, live(9*time.Second), []string(nil))
	renew("w1", frankfurt)
	equal(t, silent(9*time.Second), []fleet.Lease{})
	if err := s.ForgetLease(ctx, fleet.Lease{Worker: "w1", Region: frankfurt}, 9*time.Second); err != nil {
		t.Fatal(err)
	}
	equal(t, live(9*time.Second), []string{frankfurt}) // it was renewed in time
	renew("w1")
	equal(t, live(time.Hour), []string(nil))
}

func TestUnavailableTypes(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	want := func(want map[string][]vigil.CheckType) {
		t.Helper()
		got, err := s.LiveRegions(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, want)
	}
	renew := func(worker string, regions []string, unavailable ...vigil.CheckType) {
		t.Helper()
		if _, err := s.RenewLease(t.Context(), fleet.Renewal{Worker: worker, Regions: regions, Unavailable: unavailable}); err != nil {
			t.Fatal(err)
		}
	}
	renew("w1", []string{newark, frankfurt})
	renew("w2", []string{frankfurt}, vigil.TypePing)
	renew("w3", []string{frankfurt}, vigil.TypePing, vigil.TypeHTTP3)
	want(map[string][]vigil.CheckType{newark: {}, frankfurt: {vigil.TypeHTTP3, vigil.TypePing}})

	renew("w2", []string{frankfurt}) // its machine can run every type now
	renew("w3", []string{frankfurt})
	want(map[string][]vigil.CheckType{newark: {}, frankfurt: {}})
}

func TestAbandonedLoops(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})
	lease := func(worker string) fleet.Lease { return fleet.Lease{Worker: worker, Region: newark} }
	probed := func(worker string, later time.Duration) vigil.Check {
		t.Helper()
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, epoch().Add(later)), Worker: worker}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	abandoned := func(worker string) []uuid.UUID {
		t.Helper()
		loops, err := s.AbandonedLoops(t.Context(), lease(worker), 0, fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		var checks []uuid.UUID
		for _, loop := range loops {
			if loop.Region != newark {
				t.Errorf("a loop of %s", loop.Region)
			}
			checks = append(checks, loop.CheckID)
		}
		return checks
	}
	for _, worker := range []string{"dead", "alive"} {
		if _, err := s.RenewLease(t.Context(), fleet.Renewal{Worker: worker, Regions: []string{newark}}); err != nil {
			t.Fatal(err)
		}
	}
	later, sooner := probed("dead", time.Hour), probed("dead", 0)
	held, stopped := probed("alive", 0), probed("stopped", 2*time.Hour)

	equal(t, abandoned("dead"), []uuid.UUID{sooner.ID, later.ID, stopped.ID}) // ordered by due time; no worker has the last one
	if err := s.ClaimLoops(t.Context(), lease("alive"), []uuid.UUID{later.ID, stopped.ID}); err != nil {
		t.Fatal(err)
	}
	equal(t, abandoned("dead"), []uuid.UUID{sooner.ID})
	nudged := func(ago string) {
		t.Helper()
		const nudge = "UPDATE check_regions SET nudged_at = clock_timestamp() - ?::interval WHERE check_id = ?"
		_, err := s.DB().ExecContext(t.Context(), nudge, ago, sooner.ID)
		if err != nil {
			t.Fatal(err)
		}
	}
	nudged("0 s")
	equal(t, abandoned("dead"), []uuid.UUID(nil))
	nudged("11 s") // no worker has claimed it since
	equal(t, abandoned("dead"), []uuid.UUID{sooner.ID})
	nudged("5 s")
	if revoked, err := s.RevokeLease(t.Context(), lease("dead"), 0); err != nil || !revoked {
		t.Fatalf("revoked %v, %v", revoked, err)
	}
	equal(t, abandoned("dead"), []uuid.UUID{sooner.ID}) // that nudge was before the lease was revoked
	if got := abandoned("alive"); len(got) != 3 || !slices.Contains(got, held.ID) {
		t.Errorf("%v", got)
	}
	update(t, s, sooner, func(c *vigil.Check) { c.Enabled = false })
	equal(t, abandoned("dead"), []uuid.UUID(nil))

	// The lease of a stopped worker stays until other workers have its loops.
	leases := func() int64 {
		t.Helper()
		if err := s.ReleaseLease(t.Context(), "alive"); err != nil {
			t.Fatal(err)
		}
		return count(t, s, "SELECT count(*) FROM worker_leases WHERE worker = 'alive'")
	}
	if n := leases(); n != 1 {
		t.Errorf("%d leases of a worker that stopped with loops", n)
	}
	if err := s.ClaimLoops(t.Context(), lease("next"), []uuid.UUID{held.ID, later.ID, stopped.ID}); err != nil {
		t.Fatal(err)
	}
	if n := leases(); n != 0 {
		t.Errorf("%d leases of a worker whose loops others have", n)
	}
}
