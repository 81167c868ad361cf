package e2e_test

import (
	"context"
	"database/sql"
	"testing"
	"time"
)

// TestDrillLockedRows holds the row locks of 3 of 20 loops, as the connection of a lost
// host does: the others must not notice, and the three go on once the locks are free.
func TestDrillLockedRows(t *testing.T) {
	t.Parallel()
	const checks, locked = 20, 3
	interval, hold := 2*time.Second, 12*time.Second
	if full() {
		hold = 40 * time.Second
	}
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, checks, interval)
	s.awaitResults(time.Now()) // the first turns of all loops come at once, and are late
	p := notePauses(t)
	free := s.lockLoops(locked)

	// How old the newest stored result of a loop without a lock gets, beyond the interval.
	const oldest = `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - last_slot) * 1000), 0)::bigint
		FROM check_regions WHERE NOT (check_id = ANY(SELECT check_id FROM locked_loops))`
	var late time.Duration
	for end := time.Now().Add(hold); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ms := s.number(oldest); ms >= 0 {
			late = max(late, time.Duration(ms)*time.Millisecond-interval)
		}
	}
	waiting := s.number("SELECT count(*) FROM check_regions WHERE last_slot < clock_timestamp() - interval '5 s'")
	if waiting != locked {
		t.Errorf("%d loops wait for their locks, want %d", waiting, locked)
	}
	free()
	began := time.Now()
	eventually(t, "the locked loops go on", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE last_scheduled < $1", began) == 0
	})
	resumed := time.Since(began)
	wait(t, "slots after it", 2*interval)
	l := s.audit(time.Now())
	t.Logf("the locks of %d of %d loops held for %v: %s; %v", locked, checks, hold, &l, p)
	l.exact(t)
	figure(t, "other loops late", late, time.Second, p.longest())
	figure(t, "locked loops go on after", resumed, 10*time.Second, p.longest())
	figure(t, "missed by other loops", s.missedByFree(), 0, p.slots(interval)*(checks-locked))
}

// lockLoops locks the rows of n loops until the returned function closes the connection,
// and notes them in the table locked_loops.
func (s *cluster) lockLoops(n int) (free func()) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	query(s.t, s.dsn, "CREATE TABLE locked_loops AS SELECT check_id FROM check_regions ORDER BY check_id LIMIT 3")
	holder, err := sql.Open("pgx", s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = holder.Close() })
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

// missedByFree counts the slots of the drill that loops without a lock have missed.
func (s *cluster) missedByFree() int {
	return s.number(`SELECT coalesce(sum(count), 0) FROM result_gaps
		WHERE first_slot >= $1 AND NOT (check_id = ANY(SELECT check_id FROM locked_loops))`, s.began)
}
