// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Covers is an SQL condition about a maintenance window, alias w, and a check of any
// organization, alias c: the window covers the check. None covers that of a drill.
const Covers = `(w.org_id = c.org_id AND c.` + pg.NotDrill + ` AND (w.all_checks OR c.id = ANY(w.check_ids) OR EXISTS (
	SELECT FROM unnest(w.labels) AS l
	WHERE c.labels @> jsonb_build_object(split_part(l, '=', 1), substr(l, strpos(l, '=') + 1)))))`

// SpanRow is an occurrence with what its window covers and does.
type SpanRow struct {
	bun.BaseModel `bun:"table:maintenance_occurrences,alias:o"`

	WindowID  uuid.UUID   `bun:"window_id,pk,type:uuid"`
	OrgID     uuid.UUID   `bun:"org_id,type:uuid"`
	StartsAt  time.Time   `bun:"starts_at,pk"`
	EndsAt    time.Time   `bun:"ends_at"`
	Shifted   bool        `bun:"shifted"`
	RemovedAt *time.Time  `bun:"removed_at"`
	Name      string      `bun:"name,scanonly"`
	Timezone  string      `bun:"timezone,scanonly"`
	All       bool        `bun:"all_checks,scanonly"`
	CheckIDs  []uuid.UUID `bun:"check_ids,array,scanonly"`
	Labels    []string    `bun:"labels,array,scanonly"`
	Probing   string      `bun:"probing,scanonly"`
	Uptime    string      `bun:"uptime,scanonly"`
	CheckID   uuid.UUID   `bun:"check_id,scanonly"`
}

// Span returns the occurrence of a row.
func (r *SpanRow) Span() maintenance.Span {
	return maintenance.Span{
		Occurrence: maintenance.Occurrence{StartsAt: r.StartsAt.UTC(), EndsAt: r.EndsAt.UTC(), Shifted: r.Shifted},
		WindowID:   r.WindowID, OrgID: r.OrgID, Name: r.Name, Timezone: r.Timezone,
		Scope:   maintenance.Scope{All: r.All, CheckIDs: r.CheckIDs, Labels: r.Labels},
		Probing: maintenance.Probing(r.Probing), Uptime: maintenance.Uptime(r.Uptime),
		Removed: r.RemovedAt != nil,
	}
}

func spansOf(rows []SpanRow) []maintenance.Span {
	return pg.Map(rows, (*SpanRow).Span)
}

// SelectSpans starts a query for occurrences with what their windows cover and do.
func SelectSpans(db bun.IDB, rows *[]SpanRow) *bun.SelectQuery {
	return db.NewSelect().Model(rows).
		Column("o.window_id", "o.org_id", "o.starts_at", "o.ends_at", "o.shifted", "o.removed_at").
		ColumnExpr("w.name, w.timezone, w.all_checks, w.check_ids, w.labels, w.probing, w.uptime").
		Join("JOIN maintenance_windows AS w ON w.id = o.window_id")
}

// MaintenanceSpans returns the occurrences of all organizations that end after a time and
// start before another one, and a cursor for the next call. With an empty cursor it leaves out
// removed ones; otherwise it returns those that changed since the call that the cursor is of,
// removed ones included, under the rules of Definitions: an empty next says that everything must
// be read again. A change of what a window covers or does counts as one of its occurrences.
func (s *Store) MaintenanceSpans(
	ctx context.Context, endAfter, startBefore time.Time, cursor string,
) (spans []maintenance.Span, next string, err error) {
	since, err := pg.Row[struct {
		Next    string `bun:"next"`
		Ahead   bool   `bun:"ahead"`
		Changed bool   `bun:"changed"`
	}](ctx, s.db, `SELECT now.snapshot::text AS next, `+pg.IsAhead+` AS ahead,
			EXISTS (SELECT FROM maintenance_occurrences WHERE `+pg.Committed("changed_xid", "last.snapshot", "now.snapshot")+`) AS changed
		FROM `+pg.Snapshots, cursor)
	if err != nil || since.Ahead {
		return nil, "", pg.Wrap("look for changes of maintenance", err)
	}
	if cursor != "" && !since.Changed {
		return nil, since.Next, nil
	}
	var rows []SpanRow
	query := SelectSpans(s.db, &rows).Where("o.ends_at > ? AND o.starts_at < ?", pg.Micro(endAfter), pg.Micro(startBefore))
	if cursor == "" {
		query = query.Where("o.removed_at IS NULL")
	} else {
		query = query.Where("?", pg.ChangedSince("o.changed_xid", cursor))
	}
	err = query.OrderExpr("o.starts_at, o.window_id").Scan(ctx)
	return spansOf(rows), since.Next, pg.Wrap("read maintenance", err)
}

// CheckMaintenance returns the occurrences that run at an instant and cover checks of the
// organization, by the check; those that end last come first.
func (s *Store) CheckMaintenance(
	ctx context.Context, orgID uuid.UUID, at time.Time, checks ...uuid.UUID,
) (map[uuid.UUID][]maintenance.Span, error) {
	rows, err := runningSpans(ctx, s.db, orgID, at, checks)
	if err != nil {
		return nil, pg.Wrap("read the maintenance of checks", err)
	}
	byCheck := make(map[uuid.UUID][]maintenance.Span)
	for i := range rows {
		byCheck[rows[i].CheckID] = append(byCheck[rows[i].CheckID], rows[i].Span())
	}
	return byCheck, nil
}

func runningSpans(ctx context.Context, db bun.IDB, orgID uuid.UUID, at time.Time, checks []uuid.UUID) ([]SpanRow, error) {
	var rows []SpanRow
	err := SelectSpans(db, &rows).ColumnExpr("c.id AS check_id").
		Join("JOIN checks AS c ON c.id = ANY(?) AND "+Covers, pgdialect.Array(checks)).
		Where("o.org_id = ? AND o.starts_at <= ? AND o.ends_at > ? AND o.removed_at IS NULL", orgID, pg.Micro(at), pg.Micro(at)).
		OrderExpr("o.ends_at DESC, o.window_id").Scan(ctx)
	return rows, err
}
