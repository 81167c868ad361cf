package storage_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/storage/storagetest"
)

// TestClaimsLockRowsInOrder tests that a claim that waits for a row has locked no row with
// a later key: the result writer locks rows in the same order.
func TestClaimsLockRowsInOrder(t *testing.T) {
	t.Parallel()
	dsn := storagetest.DSN(t)
	// With another plan Postgres could read the rows in order by chance.
	for _, way := range []string{"indexscan", "bitmapscan"} {
		_, err := storagetest.Open(t, dsn).DB().ExecContext(t.Context(), `DO $$ BEGIN
			EXECUTE format('ALTER DATABASE %I SET enable_`+way+` = off', current_database()); END $$`)
		if err != nil {
			t.Fatal(err)
		}
	}
	s := storagetest.Open(t, dsn)
	org, _ := newOrg(t, s)
	ids := make([]uuid.UUID, 8)
	for i := range ids {
		ids[i] = newCheck(t, s, draft(org.ID, newark)).ID
	}
	// The row with the first key is the last one of a scan.
	ordered := slices.SortedFunc(slices.Values(ids), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := s.DB().ExecContext(t.Context(), "UPDATE check_regions SET missed = 0 WHERE check_id = ?", ordered[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT FROM check_regions WHERE check_id = ? FOR UPDATE", ordered[0]); err != nil {
		t.Fatal(err)
	}
	claimed := make(chan error, 1)
	go func() { claimed <- s.ClaimLoops(t.Context(), vigil.Lease{Worker: "w", Region: newark}, ids) }()
	eventually(t, "the claim waits", func() bool {
		return count(t, s, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND wait_event_type = 'Lock' AND query LIKE '%check_regions%SET worker%'`) == 1
	})
	if n := count(t, s, "SELECT count(*) FROM (SELECT FROM check_regions WHERE region = ? FOR UPDATE SKIP LOCKED) AS free", newark); n != 7 {
		t.Errorf("%d rows are free while a claim waits for the first, want 7", n)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-claimed; err != nil {
		t.Error(err)
	}
	if n := count(t, s, "SELECT count(*) FROM check_regions WHERE worker = 'w'"); n != 8 {
		t.Errorf("%d loops were claimed, want 8", n)
	}
}

func TestFences(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ctx := t.Context()
	renew := func(regions ...string) map[string]int64 {
		t.Helper()
		grant, err := s.RenewLease(ctx, vigil.Renewal{Worker: "w1", Regions: regions})
		if err != nil {
			t.Fatal(err)
		}
		return grant.Fences
	}
	lease := vigil.Lease{Worker: "w1", Region: newark}
	revoke := func(want bool) {
		t.Helper()
		if revoked, err := s.RevokeLease(ctx, lease, vigil.LeaseTimeout); err != nil || revoked != want {
			t.Fatalf("revoked %v, %v; want %v", revoked, err, want)
		}
	}
	silence := func() {
		t.Helper()
		const age = "UPDATE worker_leases SET renewed_at = renewed_at - interval '10 s' WHERE region = ?"
		if _, err := s.DB().ExecContext(ctx, age, newark); err != nil {
			t.Fatal(err)
		}
	}
	first := renew(newark, frankfurt)
	equal(t, renew(newark, frankfurt), first)
	if len(first) != 2 || first[newark] == first[frankfurt] {
		t.Errorf("fences %v", first)
	}

	revoke(false) // it is live
	silence()
	equal(t, renew(newark, frankfurt), first) // late, but not revoked
	silence()
	revoke(true)
	revoke(true) // another process may nudge loops of it too
	second := renew(newark, frankfurt)
	if second[newark] <= first[newark] || second[frankfurt] != first[frankfurt] {
		t.Errorf("fences %v after %v and the revocation of %s", second, first, newark)
	}
	equal(t, renew(newark, frankfurt), second)

	silence()
	if err := s.ForgetLease(ctx, lease, vigil.LeaseTimeout); err != nil {
		t.Fatal(err)
	}
	if third := renew(newark, frankfurt); third[newark] <= second[newark] {
		t.Errorf("fences %v after %v and the end of the lease", third, second)
	}
}

func TestClockDifferences(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	ctx := t.Context()
	renew := func(worker string, difference time.Duration, regions ...string) {
		t.Helper()
		grant, err := s.RenewLease(ctx, vigil.Renewal{Worker: worker, Regions: regions, ClockDifference: difference})
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
	renew("w2", vigil.ClockTolerance, frankfurt)
	want(map[string]time.Duration{}, frankfurt, newark)

	renew("w1", 3*time.Second, newark, frankfurt)
	renew("w2", -4*time.Second, frankfurt)
	want(map[string]time.Duration{newark: 3 * time.Second, frankfurt: -4 * time.Second}, frankfurt, newark)

	// A worker far off is in touch, but does not serve its region.
	renew("w1", -vigil.ClockLimit-time.Millisecond, newark, frankfurt)
	want(map[string]time.Duration{newark: -30001 * time.Millisecond, frankfurt: -30001 * time.Millisecond}, frankfurt)
	silent, err := s.SilentLeases(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, silent, []vigil.Lease{{Worker: "w1", Region: frankfurt}, {Worker: "w1", Region: newark}})
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
		_, err := s.RenewLease(ctx, vigil.Renewal{Worker: "w1", Regions: []string{newark}})
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
	const sessions = ` FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
		AND query LIKE '%INSERT INTO worker_leases%'`
	if n := count(t, s, "SELECT count(pg_terminate_backend(pid))"+sessions); n == 0 {
		t.Error("no connection renews leases")
	}
	eventually(t, "the lease is renewed over another connection", func() bool { return renew(t.Context()) == nil })
}
