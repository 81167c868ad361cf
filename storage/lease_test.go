package storage_test

import (
	"bytes"
	"slices"
	"testing"

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
