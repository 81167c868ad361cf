// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// LongestOccurrence bounds the search for occurrences that reach into a time.
//
//nolint:gochecknoglobals // a constant
var LongestOccurrence = fmt.Sprintf("interval '%d seconds'", int64(maintenance.MaxDuration/time.Second))

// Paused is the SQL condition that the next slot of a loop, alias r, of the check, alias c,
// is late because of maintenance that pauses probing: it began before the slot was overdue,
// and goes on or has ended so lately that the loop had no time to go on, which is two
// intervals, the deadline and the grace of its arguments. These are the present and the
// grace in milliseconds.
//
//nolint:gochecknoglobals // a constant
var Paused = pausedAt("?0::timestamptz", "?1")

// pausedAt is paused with its arguments as SQL.
func pausedAt(now, grace string) string {
	return `EXISTS (SELECT FROM (SELECT ` + now + ` AS now,
		(2 * r.interval_ms + r.deadline_ms + ` + grace + `) * interval '1 millisecond' AS grace) AS t,
		maintenance_occurrences AS o JOIN maintenance_windows AS w ON w.id = o.window_id
	WHERE o.org_id = c.org_id AND o.removed_at IS NULL AND w.probing = 'pause'
		AND o.starts_at <= r.next_due + t.grace AND o.starts_at <= t.now
		AND o.ends_at >= t.now - t.grace AND o.ends_at <= t.now + ` + LongestOccurrence + ` AND ` + Covers + `)`
}

// MaintenanceSpans selects the occurrences, alias o, that cover a check, alias c, and overlap [$1, $2).
const MaintenanceSpans = spans + Covers

// PausedSpans are those of MaintenanceSpans that pause the probing of the check.
const PausedSpans = spans + `w.probing = 'pause' AND ` + Covers

const spans = `SELECT c.id, greatest(o.starts_at, $1), o.ends_at FROM checks AS c
	JOIN maintenance_occurrences AS o
		ON o.org_id = c.org_id AND o.removed_at IS NULL AND o.starts_at < $2 AND o.ends_at > $1
	JOIN maintenance_windows AS w ON w.id = o.window_id AND `

// CollectSpans reads the rows of MaintenanceSpans or PausedSpans by check; spans that overlap are joined.
func CollectSpans(found pgx.Rows) (map[uuid.UUID][]Span, error) {
	byCheck := make(map[uuid.UUID][]Span)
	var id uuid.UUID
	var one Span
	_, err := pgx.ForEachRow(found, []any{&id, &one.From, &one.To}, func() error {
		byCheck[id] = append(byCheck[id], one)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	for id, spans := range byCheck {
		byCheck[id] = joined(spans)
	}
	return byCheck, nil
}

// PausesOf is the part of [from, to) in which the probing of a check is paused.
func PausesOf(ctx context.Context, tx bun.Tx, checkID uuid.UUID, from, to time.Time) ([]Span, error) {
	var rows []struct {
		From time.Time `bun:"from_at"`
		To   time.Time `bun:"to_at"`
	}
	err := tx.NewRaw(`SELECT greatest(o.starts_at, ?0) AS from_at, o.ends_at AS to_at FROM checks AS c
		JOIN maintenance_occurrences AS o ON o.org_id = c.org_id AND o.removed_at IS NULL AND o.starts_at < ?1 AND o.ends_at > ?0
		JOIN maintenance_windows AS w ON w.id = o.window_id AND w.probing = 'pause' AND `+Covers+`
		WHERE c.id = ?2`, pg.Micro(from), pg.Micro(to), checkID).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	spans := make([]Span, len(rows))
	for i, row := range rows {
		spans[i] = Span{row.From, row.To}
	}
	return joined(spans), nil
}

// PausedChecks returns the checks of a region whose probing maintenance pauses now, of an organization
// unless its ID is zero.
func (s *Store) PausedChecks(ctx context.Context, orgID uuid.UUID, region string) ([]uuid.UUID, error) {
	paused, err := pg.Rows[uuid.UUID](ctx, s.db, `WITH clock AS MATERIALIZED (SELECT coalesce(@edge, clock_timestamp()) AS now)
		SELECT DISTINCT c.id FROM clock, maintenance_occurrences AS o
			JOIN maintenance_windows AS w ON w.id = o.window_id AND w.probing = 'pause'
			JOIN checks AS c ON c.org_id = o.org_id AND c.regions @> ARRAY[@region::text] AND `+Covers+`
		WHERE o.removed_at IS NULL AND o.starts_at <= clock.now AND o.ends_at > clock.now
			AND o.ends_at <= clock.now + `+LongestOccurrence+` AND (@org = @all::uuid OR o.org_id = @org)`,
		pg.Named{"edge": s.MaintenanceEdge(), "region": region, "org": orgID, "all": uuid.Nil})
	return paused, pg.Wrap("read which checks are paused", err)
}
