// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestWriterPastLocks tests that rows whose loop or rollup another transaction has locked are
// stored all the same, and counted when the lock is free.
func TestWriterPastLocks(t *testing.T) {
	t.Parallel()

	for name, sql := range map[string]string{
		"LockedLoops":   "SELECT FROM check_regions WHERE check_id IN (?) FOR UPDATE",
		"LockedRollups": "SELECT FROM result_rollups WHERE check_id IN (?) FOR UPDATE", // it cannot be skipped
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
			if name == "LockedRollups" { // which exist after a first result
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
			for group, name := range map[*sync.WaitGroup]string{&free: "free", &held: "locked"} {
				began := time.Now()
				group.Wait()
				t.Logf("the %s loops took %v for %d results in a row each", name, time.Since(began), rounds)
			}
			for i, c := range checks {
				if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ? AND slot > ?", c.ID, epoch()); n != rounds {
					t.Errorf("check %d has %d results, want %d", i, n, rounds)
				}
				uncounted := count(t, s, "SELECT count(*) FROM uncounted_results WHERE check_id = ?", c.ID)
				if want := i < 3; (uncounted > 0) != want {
					t.Errorf("check %d has %d uncounted results, locked %v", i, uncounted, want)
				}
			}
			unlock()
			eventually(t, "all results are counted", func() bool { return count(t, s, "SELECT count(*) FROM uncounted_results") == 0 })
			const counted = "SELECT coalesce(sum(total), 0) FROM result_rollups WHERE check_id = ?"
			first := int64(0)
			if name == "LockedRollups" {
				first = 1
			}
			for i, c := range checks {
				if n := count(t, s, counted, c.ID); n != first+rounds {
					t.Errorf("the rollups of check %d count %d results, want %d", i, n, first+rounds)
				}
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
		var stored atomic.Int64 // some are, past the lock, when the machine is slow
		for i, slot := range slots {
			wg.Go(func() {
				if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, slot)}); err != nil {
					t.Error(err)
				}
				stored.Add(1)
			})
			eventually(t, "the writer has the row", func() bool { return w.Waiting()+stored.Load() > int64(i) })
		}
		unlock()
		wg.Wait()
		if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID); n != int64(len(slots)) {
			t.Errorf("%d results of %d", n, len(slots))
		}
	})

	t.Run("ResultsOfALockedLoopKeepItsRules", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c, gone := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
		w := newWriter(t, s, storage.WriterOptions{})
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch().Add(1), epoch().Add(time.Hour))
		row := func(worker string, slot int, owned bool) vigil.ResultRow {
			turn := vigil.TurnActivity{RunID: uuid.New(), ActivityID: "5", Ends: time.Now().Add(time.Hour)}
			return vigil.ResultRow{
				Result: ok(c, newark, slots[slot]), Worker: worker, Owned: owned, TurnSlots: 7, Deadline: time.Second, Turn: &turn,
			}
		}
		stored := func(row vigil.ResultRow) vigil.StoredResult {
			t.Helper()
			got, err := w.Write(t.Context(), row)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		stored(row("old", 0, false))
		unlock := lock(t, s, c)
		if got := stored(row("old", 1, true)); !got.Inserted || got.Moved || !got.Previous.Equal(slots[0]) {
			t.Errorf("the next result: %+v", got)
		}
		if got := stored(row("new", 2, false)); !got.Inserted || !got.Previous.Equal(slots[1]) {
			t.Errorf("that of another worker: %+v", got)
		}
		if got := stored(row("old", 2, true)); got.Inserted || !got.Moved {
			t.Errorf("a second one of its slot: %+v", got)
		}
		if got := stored(row("new", 5, true)); !got.Inserted || got.Moved || !got.Previous.Equal(slots[2]) {
			t.Errorf("one after two missed slots: %+v", got)
		}
		_, err := w.Write(t.Context(), row("old", 4, true))
		wantCode(t, err, vigil.CodeConflict)
		unlock()
		if got := stored(row("new", 6, true)); !got.Inserted || !got.Previous.Equal(slots[5]) {
			t.Errorf("the first one after the lock: %+v", got)
		}
		eventually(t, "all results are counted", func() bool { return count(t, s, "SELECT count(*) FROM uncounted_results") == 0 })
		loop := loopOf(t, s, c, newark)
		if loop.Worker != "new" || !loop.LastSlot.Equal(slots[6]) || loop.TurnSlots != 7 || loop.Turn.ActivityID != "5" {
			t.Errorf("the loop is %+v", loop)
		}
		if loop.Missed != 2+1 { // and slot 0 of the schedule
			t.Errorf("%d slots are missed, want 3", loop.Missed)
		}

		// What is left of a check that is deleted goes with it.
		unlock = lock(t, s, gone)
		if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(gone, newark, epoch())}); err != nil {
			t.Fatal(err)
		}
		unlock()
		if _, err := s.DeleteCheck(t.Context(), gone.OrgID, gone.ID, nil); err != nil {
			t.Fatal(err)
		}
		eventually(t, "nothing is left to count", func() bool { return count(t, s, "SELECT count(*) FROM uncounted_results") == 0 })
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

// TestVotePastALock tests that the vote of a region is stored while somebody else's transaction
// has the row of its loop.
func TestVotePastALock(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	vote := vigil.Vote{Region: newark, Revision: c.Revision, Slot: epoch().Add(time.Hour)}
	if _, err := s.SaveVote(t.Context(), c.ID, vote); err != nil {
		t.Fatal(err)
	}
	unlock := lock(t, s, c)
	defer unlock()
	vote.Slot, vote.Firing = vote.Slot.Add(time.Minute), []uuid.UUID{uuid.New()}
	if ack, err := s.SaveVote(t.Context(), c.ID, vote); err != nil || !ack.Relevant {
		t.Errorf("%+v, %v", ack, err)
	}
	vote.Slot = epoch().Add(-time.Hour) // from before the region was enabled
	_, err := s.SaveVote(t.Context(), c.ID, vote)
	wantCode(t, err, vigil.CodeNotFound)
}

// TestResultStoredAsideWhileOthersAreCounted tests that a result that is stored aside between the
// read of the uncounted results of its loop and their removal is counted, too.
func TestResultStoredAsideWhileOthersAreCounted(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{Now: time.Now})
	write(t, w, ok(c, newark, epoch()))
	slots := slotsOf(scheduleOf(t, s, c, newark), epoch().Add(1), epoch().Add(time.Hour))
	aside := func(slot time.Time) {
		t.Helper()
		exec := func(sql string, args ...any) {
			t.Helper()
			if _, err := s.DB().NewRaw(sql, args...).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		exec(`INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms)
			VALUES (?0, ?1, ?2, gen_random_uuid(), ?2, false, true, 12)`, c.ID, newark, slot)
		exec(`INSERT INTO uncounted_results (check_id, region, slot, worker, owned, deadline_ms, turn_slots)
			VALUES (?, ?, ?, '', false, 1000, 1)`, c.ID, newark, slot)
	}
	seen := false
	for i := 0; !seen && i+1 < len(slots); i += 2 { // the wait for a lock ends after 200 ms, and is begun again
		aside(slots[i])
		unlock := locker{tb: t, s: s}.lock("SELECT FROM result_rollups WHERE check_id IN (?) FOR UPDATE", c)
		counted := make(chan error, 1)
		go func() {
			_, err := s.CountResults(t.Context())
			counted <- err
		}()
		eventually(t, "the results are read, and the rollup is waited for", func() bool {
			seen = count(t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
			return seen || len(counted) > 0
		})
		aside(slots[i+1])
		unlock()
		if err := <-counted; err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all results are counted", func() bool {
		if _, err := s.CountResults(t.Context()); err != nil {
			t.Fatal(err)
		}
		return count(t, s, "SELECT count(*) FROM uncounted_results") == 0
	})
	results := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID)
	if n := count(t, s, "SELECT sum(total) FROM result_rollups WHERE check_id = ?", c.ID); n != results {
		t.Errorf("%d results are counted, want %d", n, results)
	}
}
