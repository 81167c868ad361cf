// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

func TestResultWriter(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})

	t.Run("SecondWriteOfASlotGetsTheRowOfTheFirst", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		first := ok(c, newark, epoch())
		first.Metadata = map[string]any{"phase": "connect", "n": 3.0, "deep": map[string]any{"a": []any{"b", true, nil}}}
		got, err := w.Write(t.Context(), vigil.ResultRow{Result: first, Worker: "w1", Deadline: time.Second, TurnSlots: 7})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, vigil.StoredResult{Result: first, Inserted: true})
		again, err := w.Write(t.Context(), vigil.ResultRow{Result: failed(c, newark, epoch()), Worker: "w2"})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, again, vigil.StoredResult{Result: first, Previous: first.Slot})
		loop := loopOf(t, s, c, newark)
		if loop.Health != vigil.Healthy || loop.Worker != "w1" {
			t.Errorf("the second write changed the loop: %+v", loop)
		}
		if loop.TurnSlots != 7 {
			t.Errorf("a turn covers %d slots in the row, want 7", loop.TurnSlots)
		}
		if n := count(t, s, "SELECT sum(total) FROM result_rollups WHERE check_id = ?", c.ID); n != 1 {
			t.Errorf("the rollup counts %d", n)
		}
		stored, err := s.LatestResults(t.Context(), c.ID, newark, 5)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, stored, []vigil.Result{first})
	})

	t.Run("TwoRowsOfASlotInOneGroupAreOneResult", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slow := newWriter(t, s, storage.WriterOptions{Delay: 200 * time.Millisecond, MaxRows: 8})
		var mu sync.Mutex
		var wg sync.WaitGroup
		inserted, ids := 0, map[uuid.UUID]bool{}
		for range 8 {
			wg.Go(func() {
				r := ok(c, newark, epoch())
				r.ID = uuid.New()
				got, err := slow.Write(t.Context(), vigil.ResultRow{Result: r})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if got.Inserted {
					inserted++
				}
				ids[got.Result.ID] = true
			})
		}
		wg.Wait()
		if inserted != 1 || len(ids) != 1 {
			t.Errorf("%d inserted, %d different rows returned", inserted, len(ids))
		}
	})

	t.Run("CommittedIsCalledForEveryTransaction", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		var rows, took atomic.Int64
		writer := newWriter(t, s, storage.WriterOptions{Now: time.Now, Committed: func(_ context.Context, n int, d time.Duration) {
			took.Add(int64(d))
			rows.Add(int64(n))
		}})
		write(t, writer, ok(c, newark, epoch()), ok(c, newark, epoch().Add(time.Minute)))
		// A row is answered before its transaction is counted.
		eventually(t, "every row is counted", func() bool { return rows.Load() == 2 })
		if took.Load() <= 0 || writer.Waiting() != 0 {
			t.Errorf("2 rows in %v, and %d wait", time.Duration(took.Load()), writer.Waiting())
		}
	})

	t.Run("RowsThatMayWaitAreStoredWithTheNextRowThatMayNot", func(t *testing.T) {
		t.Parallel()
		calm, news := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
		var groups, rows atomic.Int64
		writer := newWriter(t, s, storage.WriterOptions{Committed: func(_ context.Context, n int, _ time.Duration) {
			groups.Add(1)
			rows.Add(int64(n))
		}})
		var waiting sync.WaitGroup
		for i := range 5 {
			waiting.Go(func() {
				row := vigil.ResultRow{Result: ok(calm, newark, epoch().Add(time.Duration(i)*time.Minute)), MaxDelay: time.Hour}
				if _, err := writer.Write(t.Context(), row); err != nil {
					t.Error(err)
				}
			})
		}
		eventually(t, "the calm rows wait", func() bool { return writer.Waiting() == 5 })
		stored := int64(0)
		for ; writer.Waiting() > 0; stored++ {
			write(t, writer, ok(news, newark, epoch().Add(time.Duration(stored)*time.Minute)))
		}
		waiting.Wait()
		// A row is answered before its transaction is counted.
		eventually(t, "every row is counted", func() bool { return rows.Load() == 5+stored })
		if groups.Load() != stored {
			t.Errorf("%d transactions, want one for each of the %d rows that may not wait", groups.Load(), stored)
		}
	})

	t.Run("RowsThatMayWaitAreStoredWhenTheirDelayIsOver", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		writer := newWriter(t, s, storage.WriterOptions{})
		for i, delay := range []time.Duration{0, time.Nanosecond, 50 * time.Millisecond} {
			row := vigil.ResultRow{Result: ok(c, newark, epoch().Add(time.Duration(i)*time.Minute)), MaxDelay: delay}
			if got, err := writer.Write(t.Context(), row); err != nil || !got.Inserted {
				t.Errorf("delay of %v: inserted %v, %v", delay, got.Inserted, err)
			}
		}
	})

	t.Run("TextIsCleanedForPostgres", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		r := failed(c, newark, epoch().Add(123*time.Nanosecond))
		r.Error = "nul\x00 bad\xff " + strings.Repeat("ö", vigil.MaxErrorLength)
		r.Metadata = map[string]any{"k\x00": "v\x00\xff", "list": []string{"\x00"}, `\u0000`: `\u0000`}
		got, err := w.Write(t.Context(), vigil.ResultRow{Result: r, Worker: "w\x00\xff"})
		if err != nil {
			t.Fatal(err)
		}
		if e := got.Result.Error; len(e) > vigil.MaxErrorLength || len(e) < vigil.MaxErrorLength-4 ||
			!utf8.ValidString(e) || !strings.HasPrefix(e, "nul bad\uFFFD ö") {
			t.Errorf("error %q", e)
		}
		equal(t, got.Result.Metadata, map[string]any{"k": "v\uFFFD", "list": []any{""}, `\u0000`: `\u0000`})
		if !got.Result.Slot.Equal(epoch()) {
			t.Errorf("slot %v", got.Result.Slot)
		}
		stored, err := s.LatestResults(t.Context(), c.ID, newark, 1)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, stored, []vigil.Result{got.Result})
	})

	t.Run("FaultyRowFailsAlone", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slow := newWriter(t, s, storage.WriterOptions{Delay: 200 * time.Millisecond, MaxRows: 50})
		poison := map[int]func(*vigil.Result){
			7:  func(r *vigil.Result) { r.StatusCode = 1 << 40 },                                   // refused by the driver
			23: func(r *vigil.Result) { r.Metadata = map[string]any{"n": jsonNumber("1e400000")} }, // refused by Postgres
			31: func(r *vigil.Result) { r.Metadata = map[string]any{"f": func() {}} },              // not even JSON
			44: func(r *vigil.Result) { r.Slot = time.Date(400000, 1, 1, 0, 0, 0, 0, time.UTC) },   // beyond a timestamptz
		}
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				r := ok(c, newark, epoch().Add(time.Duration(i)*time.Second))
				if spoil := poison[i]; spoil != nil {
					spoil(&r)
				}
				_, err := slow.Write(t.Context(), vigil.ResultRow{Result: r})
				if (err != nil) != (poison[i] != nil) {
					t.Errorf("row %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID); n != 46 {
			t.Errorf("%d stored, want 46", n)
		}
	})

	t.Run("RowOfAnUnknownCheckOrRegionIsNotFoundAndBlocksNoOther", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slow := newWriter(t, s, storage.WriterOptions{Delay: 200 * time.Millisecond, MaxRows: 3})
		strange := c
		strange.ID = uuid.New()
		var wg sync.WaitGroup
		for _, row := range []struct {
			r    vigil.Result
			want vigil.Code
		}{
			{ok(c, newark, epoch()), ""}, {ok(c, frankfurt, epoch()), vigil.CodeNotFound}, {ok(strange, newark, epoch()), vigil.CodeNotFound},
		} {
			wg.Go(func() {
				_, err := slow.Write(t.Context(), vigil.ResultRow{Result: row.r})
				wantCode(t, err, row.want)
			})
		}
		wg.Wait()
	})

	t.Run("StoredResultEndsTheBackoffOfNudges", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		if err := s.MarkNudged(t.Context(), leaseOf(t, s, c.ID), c.ID, newark); err != nil {
			t.Fatal(err)
		}
		write(t, w, ok(c, newark, epoch()))
		if n := count(t, s, `SELECT count(*) FROM check_regions
			WHERE check_id = ? AND nudged_at IS NULL AND nudge_wait_ms = 0 AND deadline_ms = 5000`, c.ID); n != 1 {
			t.Error("the loop is still waiting")
		}
	})

	t.Run("WriteEndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		idle := storage.NewResultWriter(s, storage.WriterOptions{}) // its Run is not called
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		c := newCheck(t, s, draft(org.ID, newark))
		if _, err := idle.Write(ctx, vigil.ResultRow{Result: ok(c, newark, epoch())}); !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
	})
}

func TestResultWriterClose(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)

	t.Run("StoresAcceptedRowsAndRefusesTheRest", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		w := newWriter(t, s, storage.WriterOptions{Delay: time.Hour, MaxRows: 1000})
		var wg sync.WaitGroup
		var mu sync.Mutex
		stored := int64(0)
		for i := range 20 {
			wg.Go(func() {
				_, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, epoch().Add(time.Duration(i)*time.Second))})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					stored++
				} else {
					wantCode(t, err, vigil.CodeUnavailable)
				}
			})
		}
		w.Close()
		wg.Wait()
		w.Close()
		if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID); n != stored {
			t.Errorf("%d rows for %d successful writes", n, stored)
		}
		_, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, epoch())})
		wantCode(t, err, vigil.CodeUnavailable)
	})

	t.Run("StoresAcceptedRowsWhenTheContextOfRunEnds", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		w := storage.NewResultWriter(s, storage.WriterOptions{Delay: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		ran, wrote := make(chan error, 1), make(chan error, 1)
		go func() { ran <- w.Run(ctx) }()
		taken := make(chan struct{})
		go func() {
			close(taken)
			_, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, epoch())})
			wrote <- err
		}()
		<-taken
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		err := <-wrote
		n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID)
		if (err == nil) != (n == 1) {
			t.Errorf("%d rows after %v", n, err)
		}
	})

	t.Run("BeforeRunItEndsWritesAndRun", func(t *testing.T) {
		t.Parallel()
		w := storage.NewResultWriter(s, storage.WriterOptions{})
		w.Close()
		if err := w.Run(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := w.Write(t.Context(), vigil.ResultRow{})
		wantCode(t, err, vigil.CodeUnavailable)
	})
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	checks := make([]vigil.Check, 6)
	for i := range checks {
		checks[i] = newCheck(t, s, draft(org.ID, newark, frankfurt))
	}
	before := deadlocks(t, s)

	// Four writers get the same results, each in another order, while the checks are
	// renamed and the loops updated: every slot is stored once.
	type slot struct {
		check  int
		region string
		n      int
	}
	var slots []slot
	for c := range checks {
		for n := range 15 {
			slots = append(slots, slot{c, newark, n}, slot{c, frankfurt, n})
		}
	}
	var inserted sync.Map
	var wg sync.WaitGroup
	for range 4 {
		w := newWriter(t, s, storage.WriterOptions{Delay: 2 * time.Millisecond, MaxRows: 40})
		for _, at := range rand.Perm(len(slots)) {
			wg.Go(func() {
				c := checks[slots[at].check]
				r := ok(c, slots[at].region, epoch().Add(time.Duration(slots[at].n)*time.Second))
				got, err := w.Write(t.Context(), vigil.ResultRow{Result: r})
				if err != nil {
					t.Error(err)
				}
				if got.Inserted {
					if _, twice := inserted.LoadOrStore(slots[at], true); twice {
						t.Errorf("%v was inserted twice", slots[at])
					}
				}
			})
		}
	}
	for i, c := range checks {
		wg.Go(func() {
			for n := range 5 {
				update(t, s, c, func(c *vigil.Check) { c.Name = strings.Repeat("x", 1+i+n) })
				if err := s.MarkApplied(t.Context(), vigil.Loop{CheckID: c.ID, Region: newark, Desired: int64(n)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := int64(len(slots))
	if n := count(t, s, "SELECT count(*) FROM results"); n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
	eventually(t, "those that met a lock are counted", func() bool {
		return count(t, s, "SELECT count(*) FROM uncounted_results") == 0
	})
	if n := count(t, s, "SELECT sum(total) FROM result_rollups"); n != want {
		t.Errorf("the rollups count %d, want %d", n, want)
	}
	if n := count(t, s, "SELECT coalesce(sum(c), 0) FROM (SELECT unnest(counts) AS c FROM result_rollups) AS x"); n != want {
		t.Errorf("the histograms count %d, want %d", n, want)
	}
	if after := deadlocks(t, s); after != before {
		t.Errorf("%d deadlocks", after-before)
	}
}

// deadlocks returns how many deadlocks Postgres has detected in this database.
func deadlocks(t *testing.T, s *storage.Store) int64 {
	t.Helper()
	return count(t, s, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
}
