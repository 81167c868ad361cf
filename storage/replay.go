// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// replayColumns are what rules depend on; metadata is read as its few members, since the
// rest of it can be 16 KiB a row.
const replayColumns = `region, slot, id, success, excluded <> 0, response_time_ms, coalesce(status_code, 0),
	metadata->>'` + vigil.MetadataFingerprint + `',
	coalesce(metadata->'` + vigil.MetadataDays + `', metadata->'` + vigil.MetadataCertDays + `')::text`

// ReplayResults returns the stored results of a check in some regions, by their slots: those
// in [from, to), and before them the newest warm ones of each region. Only what rules depend
// on is read. All rows are of one snapshot, which is read a day at a time so that it takes
// little memory, and nothing is written.
func (s *Store) ReplayResults(
	ctx context.Context, checkID uuid.UUID, regions []string, from, to time.Time, warm int,
) iter.Seq2[backtest.Row, error] {
	return func(yield func(backtest.Row, error) bool) {
		tx, end, err := s.db.Snapshot(ctx)
		if err != nil {
			yield(backtest.Row{}, pg.Wrap("replay results", err))
			return
		}
		defer end()
		r := replayReader{tx: tx, yield: yield}
		if !r.read(ctx, `SELECT * FROM (SELECT `+replayColumns+` FROM unnest($2::text[]) AS of(name), LATERAL (
				SELECT * FROM results WHERE check_id = $1 AND region = of.name AND slot < $3 ORDER BY slot DESC LIMIT $4) AS newest
			) AS warm ORDER BY slot, region`, checkID, regions, from, warm) {
			return
		}
		for start := from; start.Before(to); start = results.StartOf(results.DayOf(start) + 1) {
			end := results.StartOf(results.DayOf(start) + 1)
			if end.After(to) {
				end = to
			}
			if !r.read(ctx, `SELECT `+replayColumns+` FROM results
				WHERE check_id = $1 AND region = ANY($2) AND slot >= $3 AND slot < $4 ORDER BY slot, region`, checkID, regions, start, end) {
				return
			}
		}
	}
}

// replayReader hands rows on.
type replayReader struct {
	tx    pgx.Tx
	yield func(backtest.Row, error) bool
}

// read hands the rows of a query on and reports whether more are wanted.
func (r *replayReader) read(ctx context.Context, query string, args ...any) bool {
	rows, err := r.tx.Query(ctx, query, args...)
	if err != nil {
		r.yield(backtest.Row{}, pg.Wrap("replay results", err))
		return false
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scanReplayed(rows)
		if !r.yield(row, pg.Wrap("replay results", err)) || err != nil {
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
	result.Slot, result.ResponseTime = result.Slot.UTC(), results.ResponseTime(ms)
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
	tx, end, err := s.db.Snapshot(ctx)
	if err != nil {
		return extent, err
	}
	defer end()
	missed, err := results.MissedSlots(ctx, tx, orgID, w)
	if err != nil {
		return extent, err
	}
	for _, n := range missed {
		extent.Missed += n
	}
	err = tx.QueryRow(ctx, "SELECT coalesce(sum(total), 0)::bigint FROM result_rollups WHERE check_id = $1 AND hour >= $2 AND hour < $3",
		w.Check, results.HourOf(w.From), w.To).Scan(&extent.Results)
	if err != nil {
		return extent, fmt.Errorf("count the results: %w", err)
	}
	var oldest, changed *time.Time
	err = tx.QueryRow(ctx, `SELECT min(slot), max(r.start_at) FROM check_regions AS r LEFT JOIN LATERAL (
		SELECT slot FROM results WHERE check_id = r.check_id AND region = r.region ORDER BY slot LIMIT 1) AS first ON true
		WHERE r.check_id = $1`, w.Check).Scan(&oldest, &changed)
	if err != nil {
		return extent, fmt.Errorf("find the oldest result: %w", err)
	}
	if oldest != nil {
		extent.Oldest = oldest.UTC()
	}
	if changed != nil {
		extent.Changed = changed.UTC()
	}
	return extent, nil
}

// RecordedIncidents returns the oldest incidents of a check of the organization that were
// open at some time in [from, to), at most limit, and how many there are.
func (s *Store) RecordedIncidents(
	ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time, limit int,
) ([]vigil.Incident, int64, error) {
	var rows []incidents.Row
	total, err := s.db.NewSelect().Model(&rows).Where("i.org_id = ? AND i.check_id = ?", orgID, checkID).
		Where("i.started_at < ? AND coalesce(i.resolved_at, 'infinity') > ?", pg.Micro(to), pg.Micro(from)).
		OrderExpr("i.started_at, i.id").Limit(int64(limit)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, pg.Wrap("read recorded incidents", err)
	}
	incidents, err := pg.TryMap(rows, (*incidents.Row).Incident)
	return incidents, total, pg.Wrap("read recorded incidents", err)
}

// PastMaintenance returns the spans in [from, to) in which a check of the organization is in
// maintenance, by their start. They may overlap.
func (s *Store) PastMaintenance(ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time) ([]maintenance.Occurrence, error) {
	var rows []loops.SpanRow
	err := loops.SelectSpans(s.db, &rows).Join("JOIN checks AS c ON c.id = ? AND "+loops.Covers, checkID).
		Where("o.org_id = ? AND o.starts_at < ? AND o.ends_at > ? AND o.removed_at IS NULL", orgID, pg.Micro(to), pg.Micro(from)).
		OrderExpr("o.starts_at, o.window_id").Scan(ctx)
	spans := make([]maintenance.Occurrence, len(rows))
	for i := range rows {
		spans[i] = rows[i].Span().Occurrence
	}
	return spans, pg.Wrap("read past maintenance", err)
}
