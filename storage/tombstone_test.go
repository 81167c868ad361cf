// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

func TestDeletingAHistory(t *testing.T) {
	t.Parallel()
	history := func(t *testing.T, s *storage.Store, check uuid.UUID) {
		t.Helper()
		_, err := s.DB().ExecContext(t.Context(), `INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms)
			SELECT ?, ?, at, gen_random_uuid(), at, false, true, 1
			FROM generate_series(1, 3) AS n, LATERAL (SELECT ?::timestamptz - n * interval '1 day' AS at) AS a`,
			check, newark, epoch())
		if err != nil {
			t.Fatal(err)
		}
	}
	left := func(t *testing.T, s *storage.Store, check uuid.UUID) int64 {
		t.Helper()
		return count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", check)
	}
	buried := func(t *testing.T, s *storage.Store, check uuid.UUID) bool {
		t.Helper()
		buryLoops(t, s)
		return count(t, s, "SELECT count(*) FROM loop_tombstones WHERE check_id = ? AND done_at IS NOT NULL", check) == 1
	}

	t.Run("HoldsNoWriterUp", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		old, other := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
		history(t, s, old.ID)
		if _, err := s.DeleteCheck(t.Context(), org.ID, old.ID, nil); err != nil {
			t.Fatal(err)
		}
		// Somebody has a row of the history, and so its removal takes long.
		tx, err := s.DB().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "SELECT FROM results WHERE check_id = ? FOR UPDATE", old.ID); err != nil {
			t.Fatal(err)
		}
		stones, err := s.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil || len(stones) != 1 {
			t.Fatalf("%+v, %v", stones, err)
		}
		removed := make(chan error, 1)
		go func() {
			_, err := s.PurgeLoop(t.Context(), stones[0])
			removed <- err
		}()
		eventually(t, "the removal waits", func() bool {
			return count(
				t,
				s,
				"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "+
					"AND query LIKE 'DELETE FROM results%'",
			) > 0
		})
		w := newWriter(t, s, storage.WriterOptions{})
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = w.Write(t.Context(), row(ok(old, newark, epoch())))
		}()
		write(t, w, ok(other, newark, epoch()))
		<-gone
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-removed; err != nil {
			t.Errorf("the history was not removed: %v", err)
		}
		// The loop is buried once nothing is left.
		if n := left(t, s, old.ID); n == 0 || buried(t, s, old.ID) {
			t.Fatalf("buried with %d results left", n)
		}
		eventually(t, "the loop is buried", func() bool { return buried(t, s, old.ID) })
		if n := left(t, s, old.ID); n != 0 {
			t.Errorf("%d results are left", n)
		}
	})

	t.Run("IsDoneInPortionsOfADayAndRegion", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark))
		if _, err := s.DeleteCheck(t.Context(), org.ID, c.ID, nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.DB().ExecContext(t.Context(), `INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms)
			SELECT ?, region, at, gen_random_uuid(), at, false, true, 1
			FROM unnest(ARRAY['na-east-ewr', 'eu-central-fra']) AS region, unnest(ARRAY[?::timestamptz, ?::timestamptz]) AS at`,
			c.ID, epoch(), epoch().AddDate(0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		stones, err := s.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil || len(stones) != 1 {
			t.Fatalf("%+v, %v", stones, err)
		}
		for want := int64(3); want >= -1; want-- {
			done, err := s.PurgeLoop(t.Context(), stones[0])
			if err != nil || done != (want < 0) {
				t.Errorf("done %v, %v", done, err)
			}
			if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID); n != max(want, 0) {
				t.Errorf("%d results are left, want %d", n, max(want, 0))
			}
		}
	})

	t.Run("LeavesThatOfARegionThatOnlyLeft", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		history(t, s, c.ID)
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{frankfurt} })
		if !buried(t, s, c.ID) || left(t, s, c.ID) != 3 {
			t.Errorf("%d results are left, want 3", left(t, s, c.ID))
		}
	})
}

// buryLoops buries what has a tombstone, as a sweep does that finds all ended.
func buryLoops(tb testing.TB, s *storage.Store) {
	tb.Helper()
	stones, err := s.Tombstones(tb.Context(), fleet.EverySweepShard(), 100)
	if err != nil {
		tb.Fatal(err)
	}
	for _, stone := range stones {
		if _, err := s.PurgeLoop(tb.Context(), stone); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestTombstones(t *testing.T) {
	t.Parallel()

	// stone is the only one that stands.
	stone := func(t *testing.T, s *storage.Store) vigil.Tombstone {
		t.Helper()
		stones, err := s.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil || len(stones) != 1 {
			t.Fatalf("%+v, %v", stones, err)
		}
		return stones[0]
	}
	leave := func(t *testing.T, s *storage.Store, c vigil.Check) {
		t.Helper()
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{newark} })
	}
	comeBack := func(t *testing.T, s *storage.Store, c vigil.Check) {
		t.Helper()
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{newark, frankfurt} })
	}

	t.Run("SayAtWhichRevisionTheLoopHadToEnd", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		for _, revision := range []int64{2, 4} {
			leave(t, s, c)
			if got := stone(t, s).Revision; got != revision {
				t.Errorf("revision %d, want %d", got, revision)
			}
			comeBack(t, s, c)
		}
		if _, err := s.DeleteCheck(t.Context(), org.ID, c.ID, nil); err != nil {
			t.Fatal(err)
		}
		stones, err := s.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil || len(stones) != 2 || stones[0].Revision != 0 || stones[1].Revision != 0 {
			t.Errorf("of a deleted check: %+v, %v", stones, err)
		}
	})

	t.Run("NoRegionComesBackWhileOneIsHeld", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		leave(t, s, c)
		held, release, let := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		old := stone(t, s)
		go func() {
			let <- s.LockTombstone(t.Context(), old, func(context.Context) error {
				close(held)
				<-release
				return nil
			})
		}()
		<-held
		back := make(chan struct{})
		go func() {
			defer close(back)
			comeBack(t, s, c)
		}()
		eventually(t, "the change waits", func() bool {
			return count(
				t,
				s,
				"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "+
					"AND query LIKE 'DELETE FROM loop_tombstones%'",
			) == 1
		})
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, epoch())) // which waits for nothing
		close(release)
		<-back
		if err := <-let; err != nil {
			t.Error(err)
		}
		if loop := loopOf(t, s, c, frankfurt); loop.Desired != 3 {
			t.Errorf("%+v", loop)
		}
	})

	t.Run("ThatOfAnEarlierLoopIsNeitherHeldNorClosed", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		leave(t, s, c)
		old := stone(t, s)
		comeBack(t, s, c)
		leave(t, s, c)
		err := s.LockTombstone(t.Context(), old, func(context.Context) error {
			t.Error("held")
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := s.PurgeLoop(t.Context(), old); err != nil {
			t.Error(err)
		}
		if got := stone(t, s).Revision; got != 4 {
			t.Errorf("revision %d, want 4", got)
		}
	})
}

func row(r vigil.Result) vigil.ResultRow { return vigil.ResultRow{Result: r} }
