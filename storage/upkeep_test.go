// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

const day = 24 * time.Hour

func partitions(t *testing.T, s *storage.Store) []string {
	t.Helper()
	var names []string
	err := s.DB().NewRaw("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'results'::regclass ORDER BY 1").
		Scan(t.Context(), &names)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEnsurePartitions(t *testing.T) {
	t.Parallel()

	t.Run("CreatesAWeekAheadOnceAndMovesRowsOfTheDefaultPartition", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark))
		w := newWriter(t, s, storage.WriterOptions{})
		write(t, w, ok(c, newark, epoch()), ok(c, newark, epoch().Add(30*day)))
		for range 2 {
			if err := s.EnsurePartitions(t.Context(), epoch()); err != nil {
				t.Fatal(err)
			}
		}
		names := partitions(t, s)
		if len(names) != 10 || !slices.Contains(names, "results_p20260309") || !slices.Contains(names, "results_p20260317") {
			t.Errorf("partitions %v", names)
		}
		write(t, w, ok(c, newark, epoch().Add(day)), failed(c, newark, epoch())) // the last one is already stored
		for table, want := range map[string]int64{"results": 3, "results_default": 1, "results_p20260310": 1, "results_p20260311": 1} {
			if n := count(t, s, "SELECT count(*) FROM "+table); n != want {
				t.Errorf("%d rows in %s, want %d", n, table, want)
			}
		}
		if n := count(t, s, "SELECT count(*) FROM pg_indexes WHERE tablename = 'results_p20260310'"); n != 2 {
			t.Errorf("the partition has %d indexes", n)
		}
	})

	t.Run("RunsConcurrentlyAndWhileResultsArrive", func(t *testing.T) {
		t.Parallel()
		dsn := storagetest.DSN(t)
		s := storagetest.Open(t, dsn)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark))
		w := newWriter(t, s, storage.WriterOptions{})
		var wg sync.WaitGroup
		for range 3 {
			other := storagetest.Open(t, dsn)
			wg.Go(func() {
				if err := other.EnsurePartitions(t.Context(), epoch()); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 60 {
			wg.Go(func() {
				if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, epoch().Add(time.Duration(i)*time.Hour))}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := count(t, s, "SELECT count(*) FROM results"); n != 60 {
			t.Errorf("%d rows", n)
		}
		if n := count(t, s, "SELECT count(*) FROM results_default"); n != 0 {
			t.Errorf("%d rows in the default partition", n)
		}
	})
}

// hold opens a transaction that has a table locked until release is called.
func hold(t *testing.T, dsn, lock string) (pid int, release func()) {
	t.Helper()
	tx, err := storagetest.Open(t, dsn).DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE "+lock); err != nil {
		t.Fatal(err)
	}
	if err := tx.NewRaw("SELECT pg_backend_pid()").Scan(t.Context(), &pid); err != nil {
		t.Fatal(err)
	}
	return pid, func() { _ = tx.Rollback() }
}

// longestWait runs a query again and again until stop is called, which returns the
// longest time that one took.
func longestWait(t *testing.T, s *storage.Store, query string, args ...any) (stop func() time.Duration) {
	t.Helper()
	end, result := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		var longest time.Duration
		for {
			began := time.Now()
			if _, err := s.DB().NewRaw(query, args...).Exec(t.Context()); err != nil {
				t.Error(err)
			}
			longest = max(longest, time.Since(began))
			select {
			case <-end:
				result <- longest
				return
			default:
			}
		}
	}()
	return func() time.Duration {
		close(end)
		return <-result
	}
}

// TestPartitionInUse proves that the work on partitions waits for a long transaction
// without blocking others, and is done when that has ended.
func TestPartitionInUse(t *testing.T) {
	t.Parallel()
	dsn := storagetest.DSN(t)
	s := storagetest.Open(t, dsn)
	if err := s.EnsurePartitions(t.Context(), epoch()); err != nil {
		t.Fatal(err)
	}
	before := partitions(t, s)
	_, release := hold(t, dsn, "results IN ACCESS SHARE MODE") // as a backup does
	stop := longestWait(t, s, "SELECT count(*) FROM results")
	expired, keep := epoch().Add(3*day), storage.Retention{Results: day}
	if err := s.DropExpired(t.Context(), expired, keep); err != nil {
		t.Error(err)
	}
	if longest := stop(); longest > 2*time.Second {
		t.Errorf("a reader waited for %v", longest)
	} else {
		t.Logf("the longest wait of a reader was %v, for a lock that is waited for 100 ms", longest)
	}
	if after := partitions(t, s); !slices.Equal(after, before) {
		t.Fatalf("partitions %v", after)
	}
	release()
	if err := s.DropExpired(t.Context(), expired, keep); err != nil {
		t.Error(err)
	}
	if after := partitions(t, s); len(after) != len(before)-3 || slices.Contains(after, "results_p20260311") {
		t.Errorf("partitions %v of %v", after, before)
	}

	_, release = hold(t, dsn, "results_default IN ROW EXCLUSIVE MODE")
	err := s.EnsurePartitions(t.Context(), epoch().Add(30*day))
	wantCode(t, err, vigil.CodeUnavailable)
	release()
	if err := s.EnsurePartitions(t.Context(), epoch().Add(30*day)); err != nil {
		t.Error(err)
	}
}

func TestDropExpired(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	gone := newCheck(t, s, draft(org.ID, singapore))
	w := newWriter(t, s, storage.WriterOptions{})
	if err := s.EnsurePartitions(t.Context(), epoch()); err != nil {
		t.Fatal(err)
	}
	old := epoch().Add(-5 * day) // in the default partition
	write(t, w, ok(c, newark, old), ok(c, newark, epoch()), ok(c, newark, epoch().Add(3*day)))
	if _, err := s.RenewLease(t.Context(), fleet.Renewal{Worker: "w1", Regions: []string{newark}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteCheck(t.Context(), org.ID, gone.ID, nil); err != nil {
		t.Fatal(err)
	}
	before := partitions(t, s)

	if err := s.DropExpired(t.Context(), epoch(), storage.Retention{}); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM results"); n != 3 {
		t.Errorf("keeping all left %d", n)
	}
	// Two days after noon of the 10th, its noon is expired but its evening is not.
	keep := storage.Retention{Results: 2 * day, Rollups: 3 * day, Leases: time.Hour, Tombstones: time.Hour}
	if err := s.DropExpired(t.Context(), epoch().Add(2*day), keep); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM results"); n != 2 {
		t.Errorf("%d results left, want those of the 10th and the 13th", n)
	}
	if err := s.DropExpired(t.Context(), epoch().Add(3*day), keep); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM results"); n != 1 {
		t.Errorf("%d results left, want that of the 13th", n)
	}
	if after := partitions(t, s); len(after) != len(before)-2 ||
		slices.Contains(after, "results_p20260310") || !slices.Contains(after, "results_p20260311") {
		t.Errorf("partitions %v", after)
	}
	for _, table := range []string{"result_rollups WHERE hour < '2026-03-10'", "result_gaps WHERE last_slot < '2026-03-10'"} {
		if n := count(t, s, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%d left in %s", n, table)
		}
	}

	// Leases and open tombstones use the database's clock, which tests cannot set.
	now, err := s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1, 0} {
		if err := s.DropExpired(t.Context(), now.Add(2*time.Hour), keep); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, "SELECT count(*) FROM loop_tombstones"); n != want {
			t.Errorf("%d tombstones, want %d", n, want)
		}
		buryLoops(t, s)
	}
	if n := count(t, s, "SELECT count(*) FROM worker_leases"); n != 0 {
		t.Errorf("%d leases", n)
	}
}
