// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// slotAudit compares the schedules of all checks with what Postgres holds: which
// slots were due up to an instant, which of them have a result, and which are
// recorded as missed.
type slotAudit struct {
	due, stored, missed int
	repeated            int // slots with more than one result
	stray               int // results and gaps that match no slot
	unaccounted         int // slots with neither a result nor a gap, or with both
	paused              int // slots in maintenance that pauses probing; a result or gap of them is unaccounted
	late                []time.Duration
	silence             time.Duration // longest time between results of a loop, minus the interval
	mostMissed          int           // by a single loop
}

// slotOf identifies a slot of a loop, in microseconds as stored by Postgres.
type slotOf struct {
	check  uuid.UUID
	region string
	micros int64
}

// pausedTime is when the probing of a check is paused, from one instant to before another.
type pausedTime struct {
	check    uuid.UUID
	from, to time.Time
}

// observedLoop is the schedule of a loop.
type observedLoop struct {
	check    uuid.UUID
	region   string
	active   bool
	schedule vigil.Schedule
}

// awaitResults waits until every loop has the result of a slot after the given time.
func (s *cluster) awaitResults(after time.Time) {
	s.t.Helper()
	longest := time.Duration(s.number("SELECT coalesce(max(interval_ms), 0) FROM check_regions WHERE active")) * time.Millisecond
	eventuallyWithin(s.t, waitLimit+longest, "every loop has a newer result", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE active AND (last_scheduled IS NULL OR last_scheduled < $1)", after) == 0
	})
}

// audit waits until every loop has a result for a slot at or after until, then
// compares all slots of the drill before it. The slots of loops that were stopped are
// left out: it depends on the instant of the stop which of them were due.
func (s *cluster) audit(until time.Time) slotAudit {
	s.t.Helper()
	s.awaitResults(until)
	// One snapshot: a slot that is recorded between two queries would be in neither.
	tx, err := s.db.BeginTx(s.t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	results, late := s.results(tx, until)
	gaps := s.gaps(tx, until)
	l := slotAudit{late: late}
	loops := s.loops()
	stopped := make(map[slotOf]bool)
	for _, loop := range loops {
		if !loop.active {
			stopped[slotOf{check: loop.check, region: loop.region}] = true
		}
	}
	ofStopped := func(key slotOf) bool { return stopped[slotOf{check: key.check, region: key.region}] }
	maps.DeleteFunc(results, func(key slotOf, _ int) bool { return ofStopped(key) })
	maps.DeleteFunc(gaps, func(key slotOf, _ bool) bool { return ofStopped(key) })
	for _, n := range results {
		l.stored++
		l.repeated += n - 1
	}
	l.missed = len(gaps)
	for _, loop := range loops {
		if loop.active {
			l.count(loop, s.began, until, results, gaps, s.pauses)
		}
	}
	l.stray = len(results) + l.stray // those that count did not remove
	slices.Sort(l.late)
	return l
}

// count goes through the slots of a loop and removes each one it finds from
// results and gaps.
func (l *slotAudit) count(
	loop observedLoop, from, until time.Time, results map[slotOf]int, gaps map[slotOf]bool, pauses []pausedTime,
) {
	pauses = slices.DeleteFunc(slices.Clone(pauses), func(p pausedTime) bool { return p.check != loop.check })
	before, missed := time.Time{}, 0
	for slot := loop.schedule.Next(from.Add(-1)); slot.Before(until); slot = loop.schedule.Next(slot) {
		l.due++
		key := slotOf{loop.check, loop.region, slot.UnixMicro()}
		stored, recorded := results[key] > 0, gaps[key]
		paused := slices.ContainsFunc(pauses, func(p pausedTime) bool { return !slot.Before(p.from) && slot.Before(p.to) })
		if paused {
			l.paused++
		}
		if (stored == recorded) != paused || stored && recorded {
			l.unaccounted++
		}
		if stored {
			if !before.IsZero() {
				l.silence = max(l.silence, slot.Sub(before)-loop.schedule.Interval)
			}
			before = slot
		}
		if recorded {
			missed++
		}
		delete(results, key)
		delete(gaps, key)
	}
	l.mostMissed = max(l.mostMissed, missed)
}

func (s *cluster) loops() []observedLoop {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), `SELECT r.check_id, r.region, r.active, r.start_at, c.anchor, c.interval_ms, r.offset_ms
		FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var loops []observedLoop
	for rows.Next() {
		var l observedLoop
		var interval, offset int64
		if err := rows.Scan(&l.check, &l.region, &l.active, &l.schedule.Start, &l.schedule.Anchor, &interval, &offset); err != nil {
			s.t.Fatal(err)
		}
		l.schedule.Interval, l.schedule.Offset = time.Duration(interval)*time.Millisecond, time.Duration(offset)*time.Millisecond
		loops = append(loops, l)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return loops
}

// results counts the results for each slot of the drill before until, and returns their lateness.
func (s *cluster) results(tx *sql.Tx, until time.Time) (found map[slotOf]int, late []time.Duration) {
	s.t.Helper()
	const query = "SELECT check_id, region, slot, time FROM results WHERE NOT manual AND slot >= $1 AND slot < $2"
	found = make(map[slotOf]int)
	rows, err := tx.QueryContext(s.t.Context(), query, s.began, until)
	if err != nil {
		s.t.Fatal(err)
	}
	late = s.addResults(rows, found, late)
	if s.apart != nil {
		if rows, err = s.apart.QueryContext(s.t.Context(), query, s.began, until); err != nil {
			s.t.Fatal(err)
		}
		late = s.addResults(rows, found, late)
	}
	return found, late
}

// addResults counts rows of results for each slot, and adds their lateness.
func (s *cluster) addResults(rows *sql.Rows, found map[slotOf]int, late []time.Duration) []time.Duration {
	s.t.Helper()
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key slotOf
		var slot, at time.Time
		if err := rows.Scan(&key.check, &key.region, &slot, &at); err != nil {
			s.t.Fatal(err)
		}
		key.micros = slot.UnixMicro()
		found[key]++
		late = append(late, at.Sub(slot))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return late
}

// gaps returns the slots of the drill before until that are recorded as missed.
func (s *cluster) gaps(tx *sql.Tx, until time.Time) map[slotOf]bool {
	s.t.Helper()
	rows, err := tx.QueryContext(s.t.Context(), "SELECT check_id, region, first_slot, step_ms, count FROM result_gaps")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	gaps := make(map[slotOf]bool)
	for rows.Next() {
		var key slotOf
		var first time.Time
		var step, count int64
		if err := rows.Scan(&key.check, &key.region, &first, &step, &count); err != nil {
			s.t.Fatal(err)
		}
		for i := range count {
			slot := first.Add(time.Duration(i*step) * time.Millisecond)
			key.micros = slot.UnixMicro()
			if !slot.Before(s.began) && slot.Before(until) {
				gaps[key] = true
			}
		}
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return gaps
}

// lateness returns a quantile (0 to 1) of the lateness of all results.
func (l *slotAudit) lateness(quantile float64) time.Duration {
	if len(l.late) == 0 {
		return 0
	}
	return l.late[int(quantile*float64(len(l.late)-1))]
}

func (l *slotAudit) String() string {
	ms := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	return fmt.Sprintf("due %d, stored %d, missed %d (at most %d of one loop), late %v median, %v worst, repeated %d, "+
		"longest silence beyond the interval %v",
		l.due, l.stored, l.missed, l.mostMissed, ms(l.lateness(0.5)), ms(l.lateness(1)), l.repeated, ms(l.silence))
}

// exact fails the test unless every slot is one result, recorded as missed, or paused.
func (l *slotAudit) exact(t *testing.T) {
	t.Helper()
	if l.stored+l.missed+l.paused != l.due || l.unaccounted != 0 || l.repeated != 0 || l.stray != 0 {
		t.Errorf("the slots are not accounted for: %d due, %d stored, %d missed, %d neither or both, %d results of no slot, %d repeated",
			l.due, l.stored, l.missed, l.unaccounted, l.stray, l.repeated)
	}
}

// punctual holds that no loop missed a slot and no result was later than bound, with
// allowance for pauses of the machine, and for one slot of each task that the server
// refused.
func (l *slotAudit) punctual(t *testing.T, bound, interval time.Duration, p *pauses, refused int) {
	t.Helper()
	slots := p.slots(interval)
	if slots == 0 && l.missed <= refused {
		slots = 1
	}
	figure(t, "slots missed by one loop", l.mostMissed, 0, slots)
	figure(t, "worst lateness of a slot", l.lateness(1), bound, p.longest())
}

// refusedTasks counts the workflow tasks that the server refused, because the worker whose
// cache they were for was just stopping. The server sends each again 1 to 2 s later, so
// that a loop every 2 s may miss a slot.
func (s *cluster) refusedTasks() int {
	lines := strings.Split(s.temporal.stderr.String(), "\n")
	return len(slices.DeleteFunc(lines, func(line string) bool {
		return !strings.Contains(line, "operation=AddWorkflowTask") || !strings.Contains(line, "task queue shutting down")
	}))
}
