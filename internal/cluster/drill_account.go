// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
)

// slots is the account of the slots that were due in a time: each is one result or recorded as missed.
type slots struct {
	Due, Stored, Missed int
	Wrong               int // slots with neither or both, results that match no slot or are a second one
	// Silence is the longest time between two results of one loop, beyond its interval.
	Silence time.Duration
	Silent  string // the loop: check and region
	LateP99 time.Duration
}

// loopKey names a loop.
type loopKey struct{ check, region string }

// observed is what the database has of a loop.
type observed struct {
	loopKey
	schedule vigil.Schedule
	results  map[int64]int // by slot, in microseconds
	gaps     map[int64]bool
	times    []time.Time // of results
}

// account compares the slots from one instant to before another with what is stored, in one snapshot.
func account(ctx context.Context, db *sql.DB, from, until time.Time) (slots, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return slots{}, err
	}
	defer func() { _ = tx.Rollback() }()
	loops := make(map[loopKey]*observed)
	err = query(ctx, tx, `SELECT r.check_id::text, r.region, r.start_at, c.anchor, c.interval_ms, r.offset_ms
		FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id WHERE r.active`, func(rows *sql.Rows) error {
		o := &observed{results: make(map[int64]int), gaps: make(map[int64]bool)}
		var interval, offset int64
		if err := rows.Scan(&o.check, &o.region, &o.schedule.Start, &o.schedule.Anchor, &interval, &offset); err != nil {
			return err
		}
		o.schedule.Interval, o.schedule.Offset = time.Duration(interval)*time.Millisecond, time.Duration(offset)*time.Millisecond
		loops[o.loopKey] = o
		return nil
	})
	if err != nil {
		return slots{}, err
	}
	var s slots
	var late []time.Duration
	err = query(ctx, tx, `SELECT check_id::text, region, slot, time FROM results
		WHERE NOT manual AND slot >= $1 AND slot < $2 ORDER BY time`, func(rows *sql.Rows) error {
		var key loopKey
		var slot, at time.Time
		if err := rows.Scan(&key.check, &key.region, &slot, &at); err != nil {
			return err
		}
		o := loops[key]
		if o == nil {
			return nil
		}
		o.times = append(o.times, at)
		if !slot.Before(from) {
			o.results[slot.UnixMicro()]++
			late = append(late, at.Sub(slot))
		}
		return nil
	}, from.Add(-before), until)
	if err != nil {
		return slots{}, err
	}
	err = query(ctx, tx, `SELECT check_id::text, region, first_slot, step_ms, count FROM result_gaps WHERE last_slot >= $1`,
		func(rows *sql.Rows) error {
			var key loopKey
			var first time.Time
			var step, count int64
			if err := rows.Scan(&key.check, &key.region, &first, &step, &count); err != nil {
				return err
			}
			o := loops[key]
			for i := range count {
				slot := first.Add(time.Duration(i*step) * time.Millisecond)
				if o != nil && !slot.Before(from) && slot.Before(until) {
					o.gaps[slot.UnixMicro()] = true
				}
			}
			return nil
		}, from)
	if err != nil {
		return slots{}, err
	}
	for _, o := range loops {
		s.add(o, from, until)
	}
	if slices.Sort(late); len(late) > 0 {
		s.LateP99 = late[len(late)*99/100]
	}
	return s, nil
}

// before is how long before the beginning of an account results are read: a silence may have begun there.
const before = time.Minute

// add goes through the slots of a loop.
func (s *slots) add(o *observed, from, until time.Time) {
	for slot := o.schedule.Next(from.Add(-1)); slot.Before(until); slot = o.schedule.Next(slot) {
		s.Due++
		key := slot.UnixMicro()
		if o.results[key] > 0 {
			s.Stored++
		}
		if o.gaps[key] {
			s.Missed++
		}
		if (o.results[key] == 1) == o.gaps[key] {
			s.Wrong++
		}
		delete(o.results, key)
		delete(o.gaps, key)
	}
	s.Wrong += len(o.results) + len(o.gaps)
	last := from
	if len(o.times) > 0 {
		last = o.times[0]
	}
	for _, at := range append(o.times, until) {
		if silence := at.Sub(last) - o.schedule.Interval; silence > s.Silence && !at.Before(from) {
			s.Silence, s.Silent = silence, o.check+" in "+o.region
		}
		last = at
	}
}

// query calls each for the rows of a query.
func query(ctx context.Context, tx *sql.Tx, text string, each func(*sql.Rows) error, args ...any) error {
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// alerts is the account of what was reported in a time.
type alerts struct {
	Incidents  int
	Wrong      int           // checks that failed and have not one incident, or that did not and have one
	Unbalanced int           // incidents whose beginning or end did not arrive exactly once
	Unobserved int           // checks that were reported as not probed although no loop was silent
	AttemptP99 time.Duration // from an event to its first attempt, for events outside of a time
}

// countAlerts compares the incidents since an instant with the checks that failed, and with what arrived.
func countAlerts(
	ctx context.Context, db *sql.DB, since time.Time, away [2]time.Time, flapping map[string]bool, o *outside,
) (alerts, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return alerts{}, err
	}
	defer func() { _ = tx.Rollback() }()
	var a alerts
	of := make(map[string]int)
	err = query(ctx, tx, "SELECT id::text, check_id::text FROM incidents WHERE created_at >= $1", func(rows *sql.Rows) error {
		var id, check string
		if err := rows.Scan(&id, &check); err != nil {
			return err
		}
		a.Incidents++
		of[check]++
		if o.arrived(id, "incident.triggered") != 1 || o.arrived(id, "incident.resolved") != 1 {
			a.Unbalanced++
		}
		return nil
	}, since)
	if err != nil {
		return a, err
	}
	for check := range flapping {
		if of[check] != 1 {
			a.Wrong++
		}
		delete(of, check)
	}
	a.Wrong += len(of)
	var seconds float64
	err = tx.QueryRowContext(ctx, `SELECT coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY late), 0)::float8
		FROM (SELECT extract(epoch FROM a.started_at - e.time) AS late
			FROM attempts AS a JOIN deliveries AS d ON d.id = a.delivery_id JOIN events AS e ON e.id = d.event_id
			WHERE a.number = 1 AND e.time >= $1 AND NOT (e.time >= $2 AND e.time <= $3)) AS firsts`,
		since, away[0], away[1]).Scan(&seconds)
	a.AttemptP99 = time.Duration(seconds * float64(time.Second))
	if err != nil {
		err = fmt.Errorf("read first attempts: %w", err)
	}
	return a, err
}
