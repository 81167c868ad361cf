// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

// keptLoop is a loop of the fixture as Postgres has it now.
type keptLoop struct {
	check, region        string
	schedule             vigil.Schedule
	countedUntil, last   time.Time
	stored, missed, both int64
}

// loops are the active loops of checks that do not expire.
func (u *upgrade) loops(t *testing.T) []keptLoop {
	t.Helper()
	db := u.open()
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT c.name, l.region, l.start_at, l.anchor, l.interval_ms,
			l.offset_ms, l.counted_until, l.last_slot,
			(SELECT count(*) FROM results AS r WHERE r.check_id = l.check_id AND r.region = l.region AND NOT manual
				AND slot >= l.start_at + l.offset_ms * interval '1 ms' AND slot < l.counted_until),
			(SELECT coalesce(sum(count), 0) FROM result_gaps AS g WHERE g.check_id = l.check_id AND g.region = l.region),
			(SELECT count(*) FROM result_gaps AS g JOIN results AS r USING (check_id, region) WHERE g.check_id = l.check_id AND g.region = l.region
				AND NOT r.manual AND r.slot BETWEEN g.first_slot AND g.last_slot)
		FROM check_regions AS l JOIN checks AS c ON c.id = l.check_id WHERE l.active AND c.expires_at IS NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var loops []keptLoop
	for rows.Next() {
		var l keptLoop
		var interval, offset int64
		err := rows.Scan(&l.check, &l.region, &l.schedule.Start, &l.schedule.Anchor, &interval, &offset,
			&l.countedUntil, &l.last, &l.stored, &l.missed, &l.both)
		if err != nil {
			t.Fatal(err)
		}
		l.schedule.Interval, l.schedule.Offset = time.Duration(interval)*time.Millisecond, time.Duration(offset)*time.Millisecond
		loops = append(loops, l)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return loops
}

// loopsGoOn waits until every loop has run the slot that was due when the
// program started, and those of the seconds after.
func (u *upgrade) loopsGoOn(t *testing.T) {
	const after = 5 * time.Second
	var behind []string
	eventually(t, "every loop goes on", func() bool {
		behind = nil
		loops := u.loops(t)
		for _, l := range loops {
			if due, ok := l.schedule.Newest(u.began.Add(after)); ok && l.last.Before(due) {
				behind = append(behind, l.check+" in "+l.region)
			}
		}
		return len(loops) > 0 && len(behind) == 0
	})
	t.Logf("every loop has gone on %v after the start", time.Since(u.began).Round(time.Millisecond))
}

func (u *upgrade) slotsAreAccountedFor(t *testing.T) {
	for _, l := range u.loops(t) {
		due := l.schedule.Count(l.schedule.First(), l.countedUntil)
		if l.stored+l.missed != due || l.both > 0 || l.stored < 1 {
			t.Errorf("%s in %s: %d slots were due, %d have a result, %d are counted as missed, %d both",
				l.check, l.region, due, l.stored, l.missed, l.both)
		}
	}
}
