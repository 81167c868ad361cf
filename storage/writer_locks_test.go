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

// TestWriterPastLocks tests that rows whose loop or rollup another transaction
// has locked wait alone.
func TestWriterPastLocks(t *testing.T) {
	t.Parallel()

	for name, sql := range map[string]string{
		"LockedLoopsWaitAlone":   "SELECT FROM check_regions WHERE check_id IN (?) FOR UPDATE",
		"LockedRollupsWaitAlone": "SELECT FROM result_rollups WHERE check_id IN (?) FOR UPDATE", // it cannot be skipped
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t)
			org, _ := newOrg(t, s)
			checks := make([]vigil.Check, 20)
			w := newWriter(t, s, storage.WriterOptions{Delay: 20 * time.Millisecond, Now: time.Now})
			for i := range checks {
				checks[i] = newCheck(t, s, draft(org.ID, newark))
			}
			if name == "LockedRollupsWaitAlone" { // which exist after a first result
				for _, c := range checks {
					write(t, w, ok(c, newark, epoch()))
				}
			}
			unlock := locker{tb: t, s: s}.lock(sql, checks[:3]...)

			const rounds = 10
			var held, free sync.WaitGroup
			for i, c := range checks {
				group := &free
				if i < 3 {
					group = &held
				}
				group.Go(func() {
					for _, slot := range slotsOf(scheduleOf(t, s, c, newark), epoch().Add(1), epoch().Add(time.Hour))[:rounds] {
						if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, slot)}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			began := time.Now()
			free.Wait()
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("the free loops took %v for %d results in a row each", took, rounds)
			} else {
				t.Logf("the free loops took %v for %d results in a row each", took, rounds)
			}
			for i, c := range checks {
				want := int64(rounds)
				if i < 3 {
					want = 0
				}
				if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ? AND slot > ?", c.ID, epoch()); n != want {
					t.Errorf("check %d has %d results, want %d", i, n, want)
				}
			}
			unlock()
			began = time.Now()
			held.Wait()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the locked loops took %v after their locks were released", took)
			}
			if n := count(t, s, "SELECT count(*) FROM results WHERE slot > ?", epoch()); n != 20*rounds {
				t.Errorf("%d results, want %d", n, 20*rounds)
			}
			if n := count(t, s, "SELECT sum(missed) FROM check_regions"); n > 20 { // slot 0 of each
				t.Errorf("%d missed: rows of a loop came out of order", n)
			}
		})
	}

	t.Run("RowsOfALockedLoopKeepTheirOrder", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark))
		unlock := lock(t, s, c)
		w := newWriter(t, s, storage.WriterOptions{})
		schedule := scheduleOf(t, s, c, newark)
		slots := slotsOf(schedule, epoch(), epoch().Add(5*time.Minute))
		var wg sync.WaitGroup
		for _, slot := range slots {
			wg.Go(func() {
				if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, slot)}); err != nil {
					t.Error(err)
				}
			})
			eventually(t, "the writer has the row", func() bool { return w.Waiting() >= int64(1+slices.Index(slots, slot)) })
		}
		unlock()
		wg.Wait()
		if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID); n != int64(len(slots)) {
			t.Errorf("%d results of %d", n, len(slots))
		}
	})

	t.Run("LockedTableIsWaitedForByAll", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		checks := []vigil.Check{
			newCheck(t, s, draft(org.ID, newark)),
			newCheck(t, s, draft(org.ID, newark)),
			newCheck(t, s, draft(org.ID, newark)),
		}
		unlock := locker{tb: t, s: s}.lock("LOCK TABLE results IN ACCESS EXCLUSIVE MODE")
		w := newWriter(t, s, storage.WriterOptions{})
		var wg sync.WaitGroup
		for _, c := range checks {
			wg.Go(func() { write(t, w, ok(c, newark, epoch())) })
		}
		eventually(t, "the rows wait", func() bool { return w.Waiting() == 3 })
		time.AfterFunc(2*time.Second, unlock)
		wg.Wait()
		if n := count(t, s, "SELECT count(*) FROM results"); n != 3 {
			t.Errorf("%d results", n)
		}
	})
}

// TestRoundTripsOfAGroup counts how often the writer waits for the server.
func TestRoundTripsOfAGroup(t *testing.T) {
	t.Parallel()
	link, dsn := newLink(t, storagetest.DSN(t), 0)
	s := storagetest.Open(t, dsn, func(o *storage.Options) { o.Now = epoch })
	org, _ := newOrg(t, s)
	c, other := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	first, second := scheduleOf(t, s, c, newark), scheduleOf(t, s, other, newark)
	slots := [2]time.Time{first.First(), second.First()}
	both := func() { // one slot after the other: gaps would cost a round trip more
		write(t, w, ok(c, newark, slots[0]), ok(other, newark, slots[1]))
		slots = [2]time.Time{first.Next(slots[0]), second.Next(slots[1])}
	}
	both() // prepares the statements
	before := link.trips.Load()
	const rounds = 20
	for range rounds {
		both()
	}
	if trips := float64(link.trips.Load()-before) / (2 * rounds); trips > 2.2 {
		t.Errorf("%.2f round trips a group, want 2", trips)
	} else {
		t.Logf("%.2f round trips a group", trips)
	}
}
