// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

func TestDeleteCheck(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})

	t.Run("LeavesTombstonesAndNoRow", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		schedule := scheduleOf(t, s, c, newark)
		third := schedule.Next(schedule.Next(schedule.First()))
		write(t, w, ok(c, newark, third), ok(c, frankfurt, third))
		edit, err := s.DeleteCheck(t.Context(), org.ID, c.ID, nil)
		if err != nil || len(edit.Stopped) != 2 || len(edit.Deliveries) != 0 {
			t.Fatalf("%+v, %v", edit, err)
		}
		if found := purgeCheck(t, s, c); found != 2 {
			t.Errorf("%d tombstones", found)
		}
		for _, table := range []string{"results", "result_rollups", "result_gaps", "check_regions"} {
			if n := count(t, s, "SELECT count(*) FROM "+table+" WHERE check_id = ?", c.ID); n != 0 {
				t.Errorf("%d rows left in %s", n, table)
			}
		}
		if n := count(t, s, "SELECT count(*) FROM loop_tombstones WHERE check_id = ? AND done_at IS NULL", c.ID); n != 0 {
			t.Errorf("%d are still open", n)
		}
		_, err = w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, third)})
		wantCode(t, err, vigil.CodeNotFound)
	})

	t.Run("LeavesNoResultsWhileOthersArrive", func(t *testing.T) {
		t.Parallel()
		for round := range 5 {
			c := newCheck(t, s, draft(org.ID, newark, frankfurt))
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					r := ok(c, []string{newark, frankfurt}[i%2], epoch().Add(time.Duration(i)*time.Second))
					_, err := w.Write(t.Context(), vigil.ResultRow{Result: r})
					if err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
						t.Error(err)
					}
				})
			}
			if _, err := s.DeleteCheck(t.Context(), org.ID, c.ID, nil); err != nil {
				t.Error(err)
			}
			wg.Wait()
			purgeCheck(t, s, c)
			if n := count(t, s, "SELECT count(*) FROM results WHERE check_id = ?", c.ID); n != 0 {
				t.Errorf("round %d: %d results left", round, n)
			}
		}
	})
}

// purgeCheck purges all that a deleted check left and returns how many tombstones it has.
func purgeCheck(tb testing.TB, s *storage.Store, c vigil.Check) (found int) {
	tb.Helper()
	tombstones, err := s.Tombstones(tb.Context(), fleet.EverySweepShard(), 1000)
	if err != nil {
		tb.Fatal(err)
	}
	for _, tombstone := range tombstones {
		if tombstone.CheckID != c.ID || tombstone.OrgID != c.OrgID {
			continue
		}
		found++
		for done := false; !done; {
			if done, err = s.PurgeLoop(tb.Context(), tombstone); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return found
}
