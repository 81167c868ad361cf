package storage_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"vigil"
	"vigil/storage"
	"vigil/storage/storagetest"
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
	if _, err := s.RenewLease(t.Context(), vigil.Renewal{Worker: "w1", Regions: []string{newark}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteCheck(t.Context(), org.ID, gone.ID); err != nil {
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
