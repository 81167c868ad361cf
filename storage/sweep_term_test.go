// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// TestSweepAtRestWritesOneRow tests that a renewal writes the row of its process and no shard,
// and that it leaves every other process and what an index has alone.
func TestSweepAtRestWritesOneRow(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	a, b := &sweeper{store: s, name: "a"}, &sweeper{store: s, name: "b"}
	for range 3 { // until each has its half
		renewBoth(t, a, b)
	}
	for _, query := range []string{
		"CREATE TABLE written (relation text, operation text, process text)",
		`CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN INSERT INTO written VALUES (tg_table_name, tg_op, to_jsonb(coalesce(new, old)) ->> 'name'); RETURN NULL; END $$`,
		"CREATE TRIGGER note_write AFTER INSERT OR UPDATE OR DELETE ON sweep_leases FOR EACH ROW EXECUTE FUNCTION note_write()",
		"CREATE TRIGGER note_write AFTER INSERT OR UPDATE OR DELETE ON sweep_processes FOR EACH ROW EXECUTE FUNCTION note_write()",
	} {
		if _, err := s.DB().ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	const renewals = 5
	for range renewals {
		if ofA, ofB := renewBoth(t, a, b); len(ofA) != 9 || len(ofB) != 8 {
			t.Fatalf("they have %v and %v, want halves", shardsOf(ofA), shardsOf(ofB))
		}
	}
	for _, process := range []string{"a", "b"} {
		const updates = "SELECT count(*) FROM written WHERE relation = 'sweep_processes' AND operation = 'UPDATE' AND process = "
		if n := count(t, s, updates+"'"+process+"'"); n != renewals {
			t.Errorf("%s: %d updates of its row by %d renewals", process, n, renewals)
		}
	}
	if n := count(t, s, "SELECT count(*) FROM written"); n != 2*renewals {
		t.Errorf("%d rows were written by %d renewals", n, 2*renewals)
	}
}

// renewBoth renews the leases of two processes and returns what they use.
func renewBoth(t *testing.T, a, b *sweeper) (ofA, ofB []fleet.SweepLease) {
	t.Helper()
	ofA, errA := a.renew(t.Context(), sweepLength)
	ofB, errB := b.renew(t.Context(), sweepLength)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	return ofA, ofB
}

// TestSweepTermEnds tests who has the shards of a process whose term has ended.
func TestSweepTermEnds(t *testing.T) {
	t.Parallel()
	const all = fleet.SweepShards + 1
	whileLocked := func(t *testing.T, s *storage.Store, lock string, renew func() []fleet.SweepLease) int {
		t.Helper()
		tx, err := s.DB().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		return len(renew())
	}

	t.Run("ItsRowIsDeletedByWhoTakesThem", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		renewSweep(t, s, "a", 0)
		if got := renewSweep(t, s, "b", sweepLength); len(got) != all {
			t.Errorf("has %v", shardsOf(got))
		}
		if n := count(t, s, "SELECT count(*) FROM sweep_processes"); n != 1 {
			t.Errorf("%d rows of one process", n)
		}
	})

	t.Run("NotWhileItRenews", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		renewSweep(t, s, "a", 0)
		renew := func() []fleet.SweepLease { return renewSweep(t, s, "b", sweepLength) }
		if n := whileLocked(t, s, "SELECT FROM sweep_processes WHERE name = 'a' FOR UPDATE", renew); n != 0 {
			t.Errorf("has %d while the other one may be renewing them", n)
		}
		if got := renew(); len(got) != all {
			t.Errorf("has %v afterwards", shardsOf(got))
		}
	})

	t.Run("ALockedShardKeepsNoOneFromRenewing", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		a, b := &sweeper{store: s, name: "a"}, &sweeper{store: s, name: "b"}
		renew := func(w *sweeper) func() []fleet.SweepLease {
			return func() []fleet.SweepLease {
				used, err := w.renew(t.Context(), sweepLength)
				if err != nil {
					t.Error(err)
				}
				return used
			}
		}
		const lock = "SELECT FROM sweep_leases WHERE shard IN (3, 16) FOR UPDATE"
		for _, step := range []struct {
			process *sweeper
			has     int
		}{{a, 15}, {a, 15}, {b, 0}, {a, 9}, {a, 9}, {b, 6}} {
			if n := whileLocked(t, s, lock, renew(step.process)); n != step.has {
				t.Errorf("%s has %d, want %d", step.process.name, n, step.has)
			}
		}
		if n := len(renew(b)()); n != 8 {
			t.Errorf("b has %d when they are free", n)
		}
	})

	t.Run("WhatIsStillFreeIsNotItsOwnWhenItIsBack", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		before := renewSweep(t, s, "a", sweepLength)
		renewSweep(t, s, "b", sweepLength)
		renewSweep(t, s, "c", sweepLength)
		const end = "UPDATE sweep_processes SET expires_at = clock_timestamp() WHERE name = 'a'"
		if _, err := s.DB().ExecContext(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		if got := renewSweep(t, s, "b", sweepLength); len(got) != 9 {
			t.Errorf("one of two has %v, want 9", shardsOf(got))
		}
		back := renewSweep(t, s, "a", sweepLength)
		if len(back) != 6 {
			t.Errorf("a has %v when it is back, want its third of what is free", shardsOf(back))
		}
		for _, lease := range back {
			if lease.Fence != before[lease.Shard].Fence+1 {
				t.Errorf("shard %d has fence %d after %d", lease.Shard, lease.Fence, before[lease.Shard].Fence)
			}
		}
		if got := renewSweep(t, s, "c", sweepLength); len(got) != 2 {
			t.Errorf("the third one has %v, want the rest", shardsOf(got))
		}
		equal(t, renewSweep(t, s, "a", sweepLength), back)
	})
}

// holding is what a process may believe of one shard: that it has it from an answer until
// until, by its own clock.
type holding struct {
	process     string
	fence       int64
	from, until time.Time
}

// TestNoShardHasTwoHolders renews the leases of processes that are late, whose requests are given
// up, that stop and come back, all at once. By its own clock no process may believe that it has a
// shard while another one does, and a fence belongs to one process.
func TestNoShardHasTwoHolders(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	const processes, rounds, length = 6, 60, 40 * time.Millisecond
	var mu sync.Mutex
	held := make(map[int][]holding)
	renewed, refused := 0, 0
	var wg sync.WaitGroup
	for i := range processes {
		w := &sweeper{store: s, name: strconv.Itoa(i)}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			for range rounds {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if random.IntN(4) == 0 { // given up, while the database may carry it out
					time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, cancel)
				}
				sent := time.Now()
				leases, err := w.renew(ctx, length)
				from := time.Now()
				given := ctx.Err() != nil
				cancel()
				if refusal, ok := errors.AsType[*vigil.Error](err); err != nil && !given && (!ok || refusal.Code != vigil.CodeUnavailable) {
					t.Error(err)
				}
				mu.Lock()
				if err == nil {
					renewed++
					note(held, w.name, leases, sent, from, sent.Add(length))
				} else {
					refused++
				}
				mu.Unlock()
				switch random.IntN(8) {
				case 0: // it stops
					mu.Lock()
					note(held, w.name, nil, time.Now(), time.Now(), time.Time{})
					mu.Unlock()
					if err := s.ReleaseSweep(t.Context(), w.name); err != nil {
						t.Error(err)
					}
				case 1: // it is late
					time.Sleep(length) // sleep: a process that stood still
				}
			}
		})
	}
	wg.Wait()
	taken := 0
	for shard, all := range held {
		fences := make(map[int64]string)
		for i, one := range all {
			if other, known := fences[one.fence]; known && other != one.process {
				t.Errorf("shard %d: fence %d is that of %s and of %s", shard, one.fence, other, one.process)
			}
			fences[one.fence] = one.process
			for _, other := range all[:i] {
				if other.process != one.process && other.from.Before(one.until) && one.from.Before(other.until) {
					t.Errorf("shard %d has two holders: %+v and %+v", shard, other, one)
				}
			}
		}
		taken += len(fences)
	}
	if taken < 3*(fleet.SweepShards+1) {
		t.Errorf("the shards changed hands %d times only", taken)
	}
	t.Logf("%d renewals, %d without an answer, shards taken %d times", renewed, refused, taken)
}

// note records an answer. What it leaves out the process had until it asked.
func note(held map[int][]holding, process string, leases []fleet.SweepLease, sent, from, until time.Time) {
	for shard, all := range held {
		for i := range all {
			if all[i].process == process && all[i].until.After(sent) {
				held[shard][i].until = sent
			}
		}
	}
	for _, lease := range leases {
		held[lease.Shard] = append(held[lease.Shard], holding{process, lease.Fence, from, until})
	}
}
