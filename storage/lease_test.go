// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// TestClaimsPassLockedLoops tests that a claim does not wait, which would hold up the
// renewals of the worker's lease.
func TestClaimsPassLockedLoops(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	checks, ids := make([]vigil.Check, 8), make([]uuid.UUID, 8)
	for i := range ids {
		checks[i] = newCheck(t, s, draft(org.ID, newark))
		ids[i] = checks[i].ID
	}
	unlock := lock(t, s, checks[0])
	mine := fleet.Lease{Worker: "w", Region: newark}
	wantCode(t, s.ClaimLoops(t.Context(), mine, ids), vigil.CodeUnavailable)
	if n := count(t, s, "SELECT count(*) FROM check_regions WHERE worker = 'w'"); n != 7 {
		t.Errorf("%d loops are claimed while one is locked, want 7", n)
	}
	unlock()
	if err := s.ClaimLoops(t.Context(), mine, ids); err != nil {
		t.Error(err)
	}
	if n := count(t, s, "SELECT count(*) FROM check_regions WHERE worker = 'w'"); n != 8 {
		t.Errorf("%d loops are claimed, want 8", n)
	}
}

func TestFences(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ctx := t.Context()
	renew := func(regions ...string) map[string]int64 {
		t.Helper()
		grant, err := s.RenewLease(ctx, fleet.Renewal{Worker: "w1", Regions: regions})
		if err != nil {
			t.Fatal(err)
		}
		return grant.Fences
	}
	lease := fleet.Lease{Worker: "w1", Region: newark}
	revoke := func(want bool) {
		t.Helper()
		if revoked, err := s.RevokeLease(ctx, lease, fleet.LeaseTimeout); err != nil || revoked != want {
			t.Fatalf("revoked %v, %v; want %v", revoked, err, want)
		}
	}
	silence := func() {
		t.Helper()
		const age = "UPDATE worker_leases SET renewed_at = renewed_at - interval '10 s' WHERE ? = ANY(regions)"
		if _, err := s.DB().ExecContext(ctx, age, newark); err != nil {
			t.Fatal(err)
		}
	}
	first := renew(newark, frankfurt)
	equal(t, renew(newark, frankfurt), first)
	if len(first) != 2 || first[newark] != first[frankfurt] {
		t.Errorf("fences %v, want that of the process for each region", first)
	}

	revoke(false) // it is live
	silence()
	equal(t, renew(newark, frankfurt), first) // late, but not revoked
	silence()
	revoke(true)
	revoke(true) // another process may nudge loops of it too
	second := renew(newark, frankfurt)
	if second[newark] <= first[newark] || second[frankfurt] <= first[frankfurt] {
		t.Errorf("fences %v after %v and the revocation: the worker was silent in every region", second, first)
	}
	equal(t, renew(newark, frankfurt), second)

	silence()
	if err := s.ForgetLease(ctx, lease, fleet.LeaseTimeout); err != nil {
		t.Fatal(err)
	}
	if third := renew(newark, frankfurt); third[newark] <= second[newark] {
		t.Errorf("fences %v after %v and the end of the lease", third, second)
	}
}

// TestLeaseIsOneRow tests that a renewal writes one row for all regions that the process
// serves, and none of another process.
func TestLeaseIsOneRow(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for _, query := range []string{
		"CREATE TABLE written (worker text, operation text)",
		`CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN INSERT INTO written VALUES (new.worker, tg_op); RETURN NULL; END $$`,
		"CREATE TRIGGER note_write AFTER INSERT OR UPDATE ON worker_leases FOR EACH ROW EXECUTE FUNCTION note_write()",
	} {
		if _, err := s.DB().ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	const renewals = 5
	for worker, regions := range map[string][]string{"one": {newark}, "all": vigil.RegionKeys()} {
		for range renewals {
			grant, err := s.RenewLease(t.Context(), fleet.Renewal{Worker: worker, Regions: regions})
			if err != nil || len(grant.Fences) != len(regions) {
				t.Fatalf("fences of %d regions, %v; want %d", len(grant.Fences), err, len(regions))
			}
		}
	}
	for _, worker := range []string{"one", "all"} {
		if n := count(t, s, "SELECT count(*) FROM written WHERE worker = '"+worker+"' AND operation = 'UPDATE'"); n != renewals-1 {
			t.Errorf("%s: %d updates by %d renewals, want one each", worker, n, renewals-1)
		}
	}
	if n := count(t, s, "SELECT count(*) FROM worker_leases"); n != 2 {
		t.Errorf("%d rows of two processes", n)
	}
}

func TestClockDifferences(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ctx := t.Context()
	renew := func(worker string, difference time.Duration, regions ...string) {
		t.Helper()
		grant, err := s.RenewLease(ctx, fleet.Renewal{Worker: worker, Regions: regions, ClockDifference: difference})
		if err != nil {
			t.Fatal(err)
		}
		if now, err := s.Clock(ctx); err != nil || grant.Clock.After(now) || now.Sub(grant.Clock) > time.Minute {
			t.Errorf("the database's time is %v, and %v in the answer, %v", now, grant.Clock, err)
		}
	}
	want := func(differences map[string]time.Duration, live ...string) {
		t.Helper()
		got, err := s.ClockDifferences(ctx, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, differences)
		regions, err := s.LiveRegions(ctx, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, slices.Sorted(maps.Keys(regions)), live)
	}
	renew("w1", 0, newark, frankfurt)
	renew("w2", fleet.ClockTolerance, frankfurt)
	want(map[string]time.Duration{}, frankfurt, newark)

	renew("w1", 3*time.Second, newark, frankfurt)
	renew("w2", -4*time.Second, frankfurt)
	want(map[string]time.Duration{newark: 3 * time.Second, frankfurt: -4 * time.Second}, frankfurt, newark)

	// A worker far off is in touch, but does not serve its region.
	renew("w1", -fleet.ClockLimit-time.Millisecond, newark, frankfurt)
	want(map[string]time.Duration{newark: -30001 * time.Millisecond, frankfurt: -30001 * time.Millisecond}, frankfurt)
	silent, err := s.SilentLeases(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, silent, []fleet.Lease{{Worker: "w1", Region: frankfurt}, {Worker: "w1", Region: newark}})
	if revoked, err := s.RevokeLease(ctx, silent[1], time.Minute); err != nil || !revoked {
		t.Errorf("revoked %v, %v", revoked, err)
	}
	renew("w1", 0, newark, frankfurt)
	want(map[string]time.Duration{frankfurt: -4 * time.Second}, frankfurt, newark)
}

// TestLeaseIsRenewedAfterItsConnectionIsLost tests that the connection for leases is
// opened again, and that a renewal that gets no answer ends with its context.
func TestLeaseIsRenewedAfterItsConnectionIsLost(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	renew := func(ctx context.Context) error {
		_, err := s.RenewLease(ctx, fleet.Renewal{Worker: "w1", Regions: []string{newark}})
		return err
	}
	if err := renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE worker_leases"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := renew(ctx); !errors.Is(err, context.DeadlineExceeded) || vigil.ErrorCode(err) != vigil.CodeUnavailable {
			t.Errorf("without an answer: %v", err)
		}
		cancel()
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := renew(t.Context()); err != nil {
		t.Errorf("after it: %v", err)
	}
	const sessions = ` FROM pg_stat_activity WHERE datname = current_database()
		AND query LIKE '%INSERT INTO worker_leases%' AND pid <> pg_backend_pid()`
	if n := count(t, s, "SELECT count(pg_terminate_backend(pid))"+sessions); n == 0 {
		t.Error("no connection renews leases")
	}
	eventually(t, "the lease is renewed over another connection", func() bool { return renew(t.Context()) == nil })
}
