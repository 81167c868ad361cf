// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestDrillLockedRows holds the row locks of 3 of 20 loops, as the connection of a lost host does:
// all loops are probed and stored, those with the locks too, and nothing is missed.
func TestDrillLockedRows(t *testing.T) {
	timingtest.Parallel(t)
	const checks, locked = 20, 3
	interval, hold := 2*time.Second, 12*time.Second
	if full() {
		hold = time.Minute
	}
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, checks, interval)
	s.awaitResults(time.Now()) // the first turns of all loops come at once, and are late
	p := notePauses(t)
	free := s.lockLoops(locked)
	began := time.Now()

	// How old the newest stored result of a loop gets, beyond the interval.
	const oldest = `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - newest) * 1000), 0)::bigint
		FROM (SELECT max(slot) AS newest FROM results WHERE slot > $1 GROUP BY check_id) AS r`
	var late time.Duration
	for end := began.Add(hold); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ms := s.number(oldest, began.Add(-time.Minute)); ms >= 0 {
			late = max(late, time.Duration(ms)*time.Millisecond-interval)
		}
	}
	const ofLocked = "check_id IN (SELECT check_id FROM locked_loops)"
	if stale := s.number("SELECT count(*) FROM check_regions WHERE last_slot < $1 AND "+ofLocked, began.Add(interval)); stale != locked {
		t.Errorf("the rows of %d loops are not written, want %d", stale, locked)
	}
	if n := s.number("SELECT count(DISTINCT check_id) FROM uncounted_results WHERE " + ofLocked); n != locked {
		t.Errorf("%d loops have results that their rows do not count, want %d", n, locked)
	}
	free()
	eventually(t, "the rows of the locked loops count all results", func() bool {
		return s.number("SELECT count(*) FROM uncounted_results") == 0
	})
	wait(t, "slots after it", 2*interval)
	l := s.audit(time.Now())
	t.Logf("the locks of %d of %d loops held for %v: %s; %v", locked, checks, hold, &l, p)
	l.exact(t)
	figure(t, "loops late", late, time.Second, p.longest())
	figure(
		t,
		"slots missed",
		s.number("SELECT coalesce(sum(count), 0) FROM result_gaps WHERE first_slot >= $1", s.began),
		0,
		p.slots(interval)*checks,
	)
}

// lockLoops locks the rows of n loops until the returned function closes the connection,
// and notes them in the table locked_loops.
func (s *cluster) lockLoops(n int) (free func()) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	query(s.t, s.dsn, "CREATE TABLE locked_loops AS SELECT check_id FROM check_regions ORDER BY check_id LIMIT 3")
	holder := openDatabase(s.t, s.dsn)
	tx, err := holder.BeginTx(ctx, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	found, err := tx.ExecContext(ctx, "SELECT FROM check_regions WHERE check_id IN (SELECT check_id FROM locked_loops) FOR UPDATE")
	if err != nil {
		s.t.Fatal(err)
	}
	if rows, _ := found.RowsAffected(); rows != int64(n) {
		s.t.Fatalf("%d loops are locked, want %d", rows, n)
	}
	return func() { _ = tx.Rollback() }
}
