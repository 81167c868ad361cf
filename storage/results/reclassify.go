// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	// excludedMaintenance is what the column excluded has for a result in maintenance.
	excludedMaintenance = 1
	// reclassifyLag is how long workers may take to know changed maintenance. Results of
	// this time are marked again with those of before.
	reclassifyLag = 5 * time.Second
	// reclassifyHours is how many hours one transaction marks again, while it has the lock
	// of the loop.
	reclassifyHours = 6
)

// excludedColumn is why a result is in no figure of uptime, 0 when it is in them.
func excludedColumn(excluded bool) int16 {
	if excluded {
		return excludedMaintenance
	}
	return 0
}

// QueueReclassification has the results marked again that occurrences of a window cover
// which have begun, as one span of each loop. It is called in the transaction of a change that concerns such results,
// before and after it: both what the window covered and what it covers are marked by what is
// in force when the results are marked.
func (s *Store) QueueReclassification(ctx context.Context, tx bun.Tx, windowID uuid.UUID) error {
	_, err := tx.NewRaw(`WITH clock AS MATERIALIZED (
			SELECT now, now + ?1 * interval '1 millisecond' AS due FROM (SELECT ?2::timestamptz AS now) AS t
		)
		INSERT INTO result_reclassifications AS q (check_id, region, from_at, to_at, due_at)
		SELECT r.check_id, r.region, min(o.starts_at), max(least(o.ends_at, clock.due)), clock.due
		FROM clock, maintenance_windows AS w JOIN maintenance_occurrences AS o ON o.window_id = w.id AND o.removed_at IS NULL
			JOIN checks AS c ON `+loops.Covers+` JOIN check_regions AS r ON r.check_id = c.id
		WHERE w.id = ?0 AND o.starts_at < clock.due AND o.ends_at > clock.now - ?3 * interval '1 millisecond'
		GROUP BY r.check_id, r.region, clock.due
		ON CONFLICT (check_id, region, from_at) DO UPDATE SET to_at = greatest(q.to_at, excluded.to_at), due_at = excluded.due_at`,
		windowID, pg.Milliseconds(reclassifyLag), s.loops.MaintenanceNow(), pg.Milliseconds(maintenance.MaxPast+maintenance.MaxDuration)).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("queue results in maintenance: %w", err)
	}
	return nil
}

// DueReclassifications returns spans of loops of these shards whose results must be marked
// again, the longest due first.
func (s *Store) DueReclassifications(ctx context.Context, shards []int, limit int) ([]vigil.ResultSpan, error) {
	var rows []struct {
		CheckID uuid.UUID `bun:"check_id"`
		Region  string    `bun:"region"`
		From    time.Time `bun:"from_at"`
		To      time.Time `bun:"to_at"`
		Due     time.Time `bun:"due_at"`
	}
	err := s.db.NewRaw(`SELECT check_id, region, from_at, to_at, due_at FROM result_reclassifications
		WHERE due_at <= ? AND ? ORDER BY due_at, check_id, region, from_at LIMIT ?`,
		s.loops.MaintenanceNow(), loops.InShards("check_id", shards), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("find results in maintenance", err)
	}
	spans := make([]vigil.ResultSpan, len(rows))
	for i, row := range rows {
		spans[i] = vigil.ResultSpan(row)
	}
	return spans, nil
}

// PutOffReclassification leaves out a span whose results could not be marked, for a minute.
func (s *Store) PutOffReclassification(ctx context.Context, lease fleet.SweepLease, span vigil.ResultSpan) error {
	_, err := s.db.NewRaw(`UPDATE result_reclassifications SET due_at = due_at + interval '1 minute'
		WHERE check_id = ? AND region = ? AND from_at = ? AND ?`, span.CheckID, span.Region, span.From, loops.Fenced(lease)).Exec(ctx)
	return pg.Wrap("put off results in maintenance", err)
}

// Reclassify marks the results of a span by the maintenance that is in force now, and sums
// the rollups of its hours again from the results. Each transaction has some hours and the
// lock of the loop, like that of a writer, so that it may run twice at once; repeated, it
// changes nothing. The rollup of an hour of which a part of the results is past its
// retention stays as it is. The span is done unless the lease is of an older fence.
func (s *Store) Reclassify(ctx context.Context, lease fleet.SweepLease, one vigil.ResultSpan) error {
	for _, h := range s.homes.with(one.Region) {
		if err := s.reclassifyIn(ctx, h, one); err != nil {
			return err
		}
	}
	_, err := s.db.NewRaw(`DELETE FROM result_reclassifications
		WHERE check_id = ?check AND region = ?region AND from_at = ?from AND due_at = ?due AND ?fenced`,
		pg.Named{"check": one.CheckID, "region": one.Region, "from": one.From, "due": one.Due, "fenced": loops.Fenced(lease)}).
		Exec(ctx)
	return pg.Wrap("record that results are marked", err)
}

// reclassifyIn marks the results of a span that are in one database.
func (s *Store) reclassifyIn(ctx context.Context, h *home, one vigil.ResultSpan) error {
	if err := h.usable(ctx); err != nil {
		return pg.Wrap("reach the results in maintenance", err)
	}
	hours, err := s.hoursToMark(ctx, h, one)
	if err != nil {
		return pg.Wrap("find results in maintenance", err)
	}
	for len(hours) > 0 {
		n := 1
		for n < len(hours) && hours[n].Sub(hours[0]) < reclassifyHours*time.Hour {
			n++
		}
		if err := s.reclassifyPart(ctx, h, one, loops.Span{From: hours[0], To: hours[n-1].Add(time.Hour)}); err != nil {
			return pg.Wrap("mark results in maintenance", err)
		}
		hours = hours[n:]
	}
	return nil
}

// hoursToMark returns the hours of a span, in their order, that have results and either
// marked ones or maintenance that marks them. A span may be months long and have few.
func (s *Store) hoursToMark(ctx context.Context, h *home, one vigil.ResultSpan) (hours []time.Time, err error) {
	var rows []struct {
		Hour   time.Time
		Marked bool
	}
	err = h.NewRaw(`SELECT hour, excluded > 0 AS marked FROM result_rollups
		WHERE check_id = ? AND region = ? AND hour >= ? AND hour < ? ORDER BY hour`,
		one.CheckID, one.Region, HourOf(one.From), pg.Micro(one.To)).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var covered []loops.Span
	err = s.inPgxTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		covered, err = excludedSpans(ctx, tx, one.CheckID, loops.Span{From: rows[0].Hour, To: rows[len(rows)-1].Hour.Add(time.Hour)})
		return err
	})
	for _, row := range rows {
		end := row.Hour.Add(time.Hour)
		if row.Marked || slices.ContainsFunc(covered, func(c loops.Span) bool { return c.From.Before(end) && c.To.After(row.Hour) }) {
			hours = append(hours, row.Hour.UTC())
		}
	}
	return hours, err
}

// reclassifyPart marks the results of whole hours in one database.
func (s *Store) reclassifyPart(ctx context.Context, h *home, one vigil.ResultSpan, part loops.Span) error {
	return s.inPgxTx(ctx, s.db, func(tx pgx.Tx) error {
		var locked bool
		err := tx.QueryRow(ctx, "SELECT true FROM check_regions WHERE check_id = $1 AND region = $2 FOR UPDATE", one.CheckID, one.Region).
			Scan(&locked)
		if pg.IsNoRow(err) {
			return nil // removed with its results
		}
		if err != nil {
			return fmt.Errorf("lock the loop: %w", err)
		}
		covered, err := excludedSpans(ctx, tx, one.CheckID, part)
		if err != nil {
			return err
		}
		if h.own {
			ctx, cancel := context.WithTimeout(ctx, apartLimit)
			defer cancel()
			return s.inPgxTx(ctx, h.DB, func(tx pgx.Tx) error {
				if err := lockLoopApart(ctx, tx, one.CheckID, one.Region); err != nil {
					return err
				}
				return markAgain(ctx, tx, one, part, covered)
			})
		}
		var uncounted bool
		err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM uncounted_results WHERE check_id = $1 AND region = $2)",
			one.CheckID, one.Region).Scan(&uncounted)
		if err != nil {
			return fmt.Errorf("look for uncounted results: %w", err)
		}
		if uncounted {
			return errUncounted // the sums would count them twice
		}
		return markAgain(ctx, tx, one, part, covered)
	})
}

// markAgain marks results and sums their rollups again.
func markAgain(ctx context.Context, tx pgx.Tx, one vigil.ResultSpan, part loops.Span, covered []loops.Span) error {
	changed, err := markResults(ctx, tx, one, part, covered)
	if err != nil || !changed {
		return err
	}
	return sumAgain(ctx, tx, one, part)
}

// excludedSpans returns the part of a time in which maintenance leaves the results of a check
// out of its uptime.
func excludedSpans(ctx context.Context, tx pgx.Tx, checkID uuid.UUID, part loops.Span) ([]loops.Span, error) {
	found, err := tx.Query(ctx, `SELECT c.id, o.starts_at, o.ends_at FROM checks AS c
		JOIN maintenance_occurrences AS o ON o.org_id = c.org_id AND o.removed_at IS NULL AND o.starts_at < $2 AND o.ends_at > $1
		JOIN maintenance_windows AS w ON w.id = o.window_id AND w.uptime = 'exclude' AND `+loops.Covers+`
		WHERE c.id = $3`, part.From, part.To, checkID)
	if err != nil {
		return nil, fmt.Errorf("read maintenance: %w", err)
	}
	byCheck, err := loops.CollectSpans(found)
	return byCheck[checkID], err
}

// markResults marks the results of a time and reports whether any changed.
func markResults(ctx context.Context, tx pgx.Tx, one vigil.ResultSpan, part loops.Span, covered []loops.Span) (bool, error) {
	starts, ends := []time.Time{}, []time.Time{}
	for _, c := range covered {
		starts, ends = append(starts, c.From), append(ends, c.To)
	}
	done, err := tx.Exec(ctx, `UPDATE results AS r SET excluded = m.excluded FROM (
			SELECT slot, CASE WHEN EXISTS (SELECT FROM unnest(@starts::timestamptz[], @ends::timestamptz[]) AS s (a, b) WHERE slot >= a AND slot < b)
				THEN @maintenance::int2 ELSE 0::int2 END AS excluded
			FROM results WHERE check_id = @check AND region = @region AND slot >= @from AND slot < @to
		) AS m
		WHERE r.check_id = @check AND r.region = @region AND r.slot = m.slot AND r.slot >= @from AND r.slot < @to
			AND r.excluded <> m.excluded`,
		pg.Named{
			"check": one.CheckID, "region": one.Region, "from": part.From, "to": part.To, "starts": starts, "ends": ends,
			"maintenance": int16(excludedMaintenance),
		})
	if err != nil {
		return false, fmt.Errorf("mark: %w", err)
	}
	return done.RowsAffected() > 0, nil
}

// sumAgain sums the rollups of whole hours from the results.
func sumAgain(ctx context.Context, tx pgx.Tx, one vigil.ResultSpan, part loops.Span) error {
	found, err := tx.Query(ctx, `SELECT slot, success, response_time_ms, excluded <> 0 FROM results
		WHERE check_id = $1 AND region = $2 AND slot >= $3 AND slot < $4`, one.CheckID, one.Region, part.From, part.To)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	sums := make(map[hourKey]*Rollup)
	var slot time.Time
	var success, excluded bool
	var ms float64
	_, err = pgx.ForEachRow(found, []any{&slot, &success, &ms, &excluded}, func() error {
		key := hourKey{loopKey{one.CheckID, one.Region}, HourOf(slot)}
		if sums[key] == nil {
			sums[key] = &Rollup{Times: make(Histogram)}
		}
		sums[key].count(success, ResponseTime(ms), excluded)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	if err := dropIncomplete(ctx, tx, one, part, sums); err != nil {
		return err
	}
	order := make([]hourKey, 0, len(sums))
	for key := range sums {
		order = append(order, key)
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortFunc(order, func(a, b hourKey) int { return a.hour.Compare(b.hour) })
	statement, args := rollupWrite(order, sums)
	// Ordinary connections do not ask for the types of parameters, which arrays of ids need.
	if _, err := tx.Exec(ctx, statement, pgx.QueryExecModeDescribeExec, args); err != nil {
		return fmt.Errorf("store rollups: %w", err)
	}
	return nil
}

// dropIncomplete drops the sums of hours that have fewer results than their rollup: the
// others are past their retention.
func dropIncomplete(ctx context.Context, tx pgx.Tx, one vigil.ResultSpan, part loops.Span, sums map[hourKey]*Rollup) error {
	found, err := tx.Query(ctx, `SELECT hour, total + excluded FROM result_rollups
		WHERE check_id = $1 AND region = $2 AND hour >= $3 AND hour < $4`, one.CheckID, one.Region, part.From, part.To)
	if err != nil {
		return fmt.Errorf("read rollups: %w", err)
	}
	var hour time.Time
	var results int64
	_, err = pgx.ForEachRow(found, []any{&hour, &results}, func() error {
		key := hourKey{loopKey{one.CheckID, one.Region}, hour.UTC()}
		if sum := sums[key]; sum != nil && sum.Total+sum.excluded < results {
			delete(sums, key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read rollups: %w", err)
	}
	return nil
}

// inPgxTx runs fn in a transaction without bun.
func (s *Store) inPgxTx(ctx context.Context, db *pg.DB, fn func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, db.Pool, pgx.TxOptions{BeginQuery: "BEGIN" + db.LocalLimits()}, fn)
}
