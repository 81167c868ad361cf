// SPDX-License-Identifier: Apache-2.0

package results

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// replayColumns are what rules depend on; metadata is read as its few members, since the
// rest of it can be 16 KiB a row.
const replayColumns = `region, slot, id, success, excluded <> 0, response_time_ms, coalesce(status_code, 0),
	metadata->>'` + vigil.MetadataFingerprint + `',
	coalesce(metadata->'` + vigil.MetadataDays + `', metadata->'` + vigil.MetadataCertDays + `')::text`

// ReplayResults returns the stored results of a check in some regions, by their slots: those
// in [from, to), and before them the newest warm ones of each region. Only what rules depend
// on is read. All rows of a database are of one snapshot, which is read a day at a time so that it takes
// little memory, and nothing is written.
func (s *Store) ReplayResults(
	ctx context.Context, checkID uuid.UUID, regions []string, from, to time.Time, warm int,
) iter.Seq2[backtest.Row, error] {
	return func(yield func(backtest.Row, error) bool) {
		v, end, err := s.snapshot(ctx, s.homes.with(regions...))
		if err != nil {
			yield(backtest.Row{}, pg.Wrap("replay results", err))
			return
		}
		defer end()
		r := replayReader{homes: v.homes, yield: yield}
		if !r.read(ctx, warm, `SELECT * FROM (SELECT `+replayColumns+` FROM unnest($2::text[]) AS of(name), LATERAL (
				SELECT * FROM results WHERE check_id = $1 AND region = of.name AND slot < $3 ORDER BY slot DESC LIMIT $4) AS newest
			) AS warm ORDER BY slot, region`, checkID, regions, from, warm) {
			return
		}
		for start := from; start.Before(to); start = StartOf(DayOf(start) + 1) {
			if !r.read(ctx, 0, `SELECT `+replayColumns+` FROM results
				WHERE check_id = $1 AND region = ANY($2) AND slot >= $3 AND slot < $4 ORDER BY slot, region`,
				checkID, regions, start, timing.Earlier(to, StartOf(DayOf(start)+1))) {
				return
			}
		}
	}
}

// replayReader hands rows on.
type replayReader struct {
	homes []pgx.Tx
	yield func(backtest.Row, error) bool
}

// read hands the rows of a query on and reports whether more are wanted. Those of several databases are joined; newest is how many
// of each region are wanted then, 0 for all.
func (r *replayReader) read(ctx context.Context, newest int, query string, args ...any) bool {
	if len(r.homes) == 1 {
		return r.rows(ctx, r.homes[0], r.yield, query, args...)
	}
	var all []backtest.Row
	for _, tx := range r.homes {
		whole := r.rows(ctx, tx, func(row backtest.Row, err error) bool {
			if err != nil {
				return r.yield(row, err)
			}
			all = append(all, row)
			return true
		}, query, args...)
		if !whole {
			return false
		}
	}
	slices.SortStableFunc(all, func(a, b backtest.Row) int {
		return cmp.Or(a.Result.Slot.Compare(b.Result.Slot), cmp.Compare(a.Region, b.Region))
	})
	if newest > 0 {
		all = newestOf(all, newest)
	}
	for _, row := range all {
		if !r.yield(row, nil) {
			return false
		}
	}
	return true
}

// newestOf returns the newest rows of each region, in their order.
func newestOf(rows []backtest.Row, n int) []backtest.Row {
	left := make(map[string]int)
	for _, row := range rows {
		left[row.Region]++
	}
	return slices.DeleteFunc(rows, func(row backtest.Row) bool {
		left[row.Region]--
		return left[row.Region] >= n
	})
}

// rows visits the rows that one database has, and reports whether more are wanted.
func (r *replayReader) rows(ctx context.Context, tx pgx.Tx, visit func(backtest.Row, error) bool, query string, args ...any) bool {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		r.yield(backtest.Row{}, pg.Wrap("replay results", err))
		return false
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scanReplayed(rows)
		if !visit(row, pg.Wrap("replay results", err)) || err != nil {
			return false
		}
	}
	if err := rows.Err(); err != nil {
		r.yield(backtest.Row{}, pg.Wrap("replay results", err))
		return false
	}
	return true
}

func scanReplayed(rows pgx.Rows) (row backtest.Row, err error) {
	var ms float64
	var fingerprint, days *string
	result := &row.Result
	err = rows.Scan(&row.Region, &result.Slot, &result.ID, &result.Success, &result.Excluded, &ms, &result.StatusCode, &fingerprint, &days)
	if err != nil {
		return row, fmt.Errorf("read a row: %w", err)
	}
	result.Slot, result.ResponseTime = result.Slot.UTC(), ResponseTime(ms)
	if fingerprint != nil || days != nil {
		result.Metadata = make(map[string]any, 2)
	}
	if fingerprint != nil {
		result.Metadata[vigil.MetadataFingerprint] = *fingerprint
	}
	if days != nil {
		result.Metadata[vigil.MetadataDays] = json.Number(*days)
	}
	return row, nil
}

// ReplayExtent returns how much a replay of a check's results in [from, to) would read, to the
// hour, and how many slots of it were missed. Oldest is the slot of the oldest stored result,
// zero without one. A check that is not the organization's is a CodeNotFound error.
func (s *Store) ReplayExtent(ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time) (backtest.ReplayExtent, error) {
	extent, err := s.replayExtent(ctx, orgID, loops.Window{Check: checkID, From: from, To: to})
	return extent, pg.Wrap("measure a replay", err)
}

func (s *Store) replayExtent(ctx context.Context, orgID uuid.UUID, w loops.Window) (extent backtest.ReplayExtent, err error) {
	v, end, err := s.snapshot(ctx, s.homes.all)
	if err != nil {
		return extent, err
	}
	defer end()
	missed, err := missedSlots(ctx, v.tx, orgID, w)
	if err != nil {
		return extent, err
	}
	for _, n := range missed {
		extent.Missed += n
	}
	regions := slices.Collect(maps.Keys(missed))
	for _, tx := range v.homes {
		if err := addExtent(ctx, tx, w, regions, &extent); err != nil {
			return extent, err
		}
	}
	var changed *time.Time
	if err := v.tx.QueryRow(ctx, "SELECT max(start_at) FROM check_regions WHERE check_id = $1", w.Check).Scan(&changed); err != nil {
		return extent, fmt.Errorf("find the last change: %w", err)
	}
	extent.Changed = pg.ZeroIfNil(changed).UTC()
	return extent, nil
}

// addExtent adds what one database has.
func addExtent(ctx context.Context, tx pgx.Tx, w loops.Window, regions []string, extent *backtest.ReplayExtent) error {
	var n int64
	err := tx.QueryRow(ctx, "SELECT coalesce(sum(total), 0)::bigint FROM result_rollups WHERE check_id = $1 AND hour >= $2 AND hour < $3",
		w.Check, HourOf(w.From), w.To).Scan(&n)
	if err != nil {
		return fmt.Errorf("count the results: %w", err)
	}
	extent.Results += n
	var oldest *time.Time
	err = tx.QueryRow(ctx, `SELECT min(slot) FROM unnest($2::text[]) AS k (region) CROSS JOIN LATERAL (
		SELECT slot FROM results WHERE check_id = $1 AND region = k.region ORDER BY slot LIMIT 1) AS first`, w.Check, regions).Scan(&oldest)
	if err != nil {
		return fmt.Errorf("find the oldest result: %w", err)
	}
	if oldest != nil && (extent.Oldest.IsZero() || oldest.Before(extent.Oldest)) {
		extent.Oldest = oldest.UTC()
	}
	return nil
}
