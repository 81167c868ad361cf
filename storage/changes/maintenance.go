// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type maintenanceRow struct {
	bun.BaseModel `bun:"table:maintenance_windows,alias:w"`

	ID        uuid.UUID   `bun:"id,pk,type:uuid"`
	OrgID     uuid.UUID   `bun:"org_id,type:uuid"`
	Name      string      `bun:"name"`
	All       bool        `bun:"all_checks"`
	CheckIDs  []uuid.UUID `bun:"check_ids,array"`
	Labels    []string    `bun:"labels,array"`
	StartsAt  time.Time   `bun:"starts_at"`
	Timezone  string      `bun:"timezone"`
	Seconds   int64       `bun:"duration_seconds"`
	RRule     string      `bun:"rrule"`
	Cron      string      `bun:"cron"`
	Until     *time.Time  `bun:"until"`
	Probing   string      `bun:"probing"`
	Uptime    string      `bun:"uptime"`
	Enabled   bool        `bun:"enabled"`
	Version   int64       `bun:"version"`
	CreatedAt time.Time   `bun:"created_at"`
	UpdatedAt time.Time   `bun:"updated_at"`

	definitions.ManagedRow

	Covered     int64           `bun:"checks_covered,scanonly"`
	Occurrences json.RawMessage `bun:"occurrences,scanonly"`
}

// shownNext is how many later occurrences are read with a window.
const shownNext = 10

// maintenanceColumns are SQL about a row of maintenance_windows: how many checks it covers,
// and its occurrences that run or come next.
func maintenanceColumns() []string {
	return []string{
		"(SELECT count(*) FROM checks AS c WHERE c.org_id = w.org_id AND " + loops.Covers + ") AS checks_covered",
		fmt.Sprintf(`(SELECT jsonb_agg(to_jsonb(n) ORDER BY n.starts_at) FROM (
			SELECT o.starts_at, o.ends_at, o.shifted FROM maintenance_occurrences AS o
			WHERE o.window_id = w.id AND o.removed_at IS NULL AND o.ends_at > now() ORDER BY o.starts_at LIMIT %d) AS n) AS occurrences`,
			shownNext+1),
	}
}

func rowOfMaintenance(w *maintenance.Window) *maintenanceRow {
	return &maintenanceRow{
		ID: w.ID, OrgID: w.OrgID, Name: w.Name, All: w.Scope.All, CheckIDs: append([]uuid.UUID{}, w.Scope.CheckIDs...),
		Labels: append([]string{}, w.Scope.Labels...), StartsAt: w.StartsAt, Timezone: w.Timezone, Seconds: int64(w.Duration / time.Second),
		RRule: w.RRule, Cron: w.Cron, Until: w.Until, Probing: string(w.Probing), Uptime: string(w.Uptime), Enabled: w.Enabled,
		Version: w.Version, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt, ManagedRow: definitions.ManagedColumns(w.ManagedBy, w.AppliedVersion),
	}
}

func (r *maintenanceRow) window() maintenance.Window {
	w := maintenance.Window{
		ID: r.ID, OrgID: r.OrgID, Name: r.Name, Scope: maintenance.Scope{All: r.All, CheckIDs: r.CheckIDs, Labels: r.Labels},
		Schedule: maintenance.Schedule{
			StartsAt: r.StartsAt.UTC(), Timezone: r.Timezone, Duration: time.Duration(r.Seconds) * time.Second, RRule: r.RRule, Cron: r.Cron,
		},
		Probing: maintenance.Probing(r.Probing), Uptime: maintenance.Uptime(r.Uptime), Enabled: r.Enabled,
		Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
		ManagedBy: r.ManagedBy(), AppliedVersion: r.Applied,
	}
	if r.Until != nil {
		until := r.Until.UTC()
		w.Until = &until
	}
	return w
}

// status is the window with its occurrences around a time.
func (r *maintenanceRow) status(now time.Time) (maintenance.Status, error) {
	var stored []struct {
		StartsAt time.Time `json:"starts_at"`
		EndsAt   time.Time `json:"ends_at"`
		Shifted  bool      `json:"shifted"`
	}
	if len(r.Occurrences) > 0 {
		if err := json.Unmarshal(r.Occurrences, &stored); err != nil {
			return maintenance.Status{}, fmt.Errorf("read the occurrences of maintenance window %s: %w", r.ID, err)
		}
	}
	status := maintenance.Status{Window: r.window(), ChecksCovered: r.Covered, State: maintenance.Ended}
	for _, row := range stored {
		o := maintenance.Occurrence{StartsAt: row.StartsAt.UTC(), EndsAt: row.EndsAt.UTC(), Shifted: row.Shifted}
		switch {
		case o.StartsAt.After(now):
			status.Next = append(status.Next, o)
		case status.Current == nil || o.EndsAt.After(status.Current.EndsAt):
			status.Current = &o
		}
	}
	status.Next = status.Next[:min(len(status.Next), shownNext)]
	switch {
	case status.Current != nil:
		status.State = maintenance.Active
	case !r.Enabled:
		status.State = maintenance.Disabled
	case len(status.Next) > 0:
		status.State = maintenance.Upcoming
	}
	return status, nil
}

// CreateMaintenanceWindow stores a new window of its organization with its occurrences. Zero
// ids and times are filled in. More windows than the plan allows, and on the free plan one
// that covers all checks, are a CodePlanLimit error; a check that is not the organization's is
// a CodeInvalid error.
func (s *Store) CreateMaintenanceWindow(ctx context.Context, w maintenance.Window) (maintenance.Status, error) {
	var created maintenance.Status
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, w.OrgID)
		if err != nil {
			return err
		}
		if err := s.edit(ctx, tx, w.OrgID, tier, &project.Changes{Windows: []project.Edit[maintenance.Window]{{After: &w}}}); err != nil {
			return err
		}
		if created, err = readMaintenance(ctx, tx, w.OrgID, w.ID); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, created)
	})
	return created, pg.Wrap("create maintenance window", err)
}

// checkScope returns an error when a window covers what it may not.
func checkScope(ctx context.Context, tx bun.Tx, w *maintenance.Window, tier account.Tier) error {
	if w.Scope.All && !tier.MaintenanceOfAll() {
		err := vigil.Errorf(vigil.CodePlanLimit,
			"The %s plan has no maintenance of all checks. Name the checks in scope.check_ids or select them by scope.labels, "+
				"or change the plan.", tier)
		err.Details = map[string]any{"member": "scope.all", "tier": string(tier)}
		return err
	}
	if len(w.Scope.CheckIDs) == 0 {
		return nil
	}
	var own []uuid.UUID
	err := tx.NewRaw("SELECT id FROM checks WHERE org_id = ? AND id = ANY(?) AND "+pg.NotDrill+" ORDER BY id FOR KEY SHARE", w.OrgID,
		pgdialect.Array(w.Scope.CheckIDs)).Scan(ctx, &own)
	if err != nil {
		return fmt.Errorf("read the checks: %w", err)
	}
	for i, id := range w.Scope.CheckIDs {
		if !slices.Contains(own, id) {
			return vigil.Invalid(fmt.Sprintf("scope.check_ids[%d]", i), "is not a check of this organization")
		}
	}
	return nil
}

// MaintenanceWindow finds a window of the organization.
func (s *Store) MaintenanceWindow(ctx context.Context, orgID, id uuid.UUID) (maintenance.Status, error) {
	return readMaintenance(ctx, s.db, orgID, id)
}

func readMaintenance(ctx context.Context, db bun.IDB, orgID, id uuid.UUID) (maintenance.Status, error) {
	var row struct {
		maintenanceRow `bun:",extend"`

		Now time.Time `bun:"clock,scanonly"`
	}
	query := db.NewSelect().Model(&row).ColumnExpr("w.*").ColumnExpr("now() AS clock")
	for _, column := range maintenanceColumns() {
		query = query.ColumnExpr(column)
	}
	if err := query.Where("w.id = ? AND w.org_id = ? AND w.deleted_at IS NULL", id, orgID).Scan(ctx); err != nil {
		return maintenance.Status{}, pg.Found("maintenance window", err)
	}
	status, err := row.status(row.Now)
	return status, pg.Wrap("read maintenance window", err)
}

// MaintenanceWindows returns a page of the organization's windows that a filter selects,
// newest first, and the extent of the list.
func (s *Store) MaintenanceWindows(
	ctx context.Context, orgID uuid.UUID, f maintenance.Filter,
) ([]maintenance.Status, listing.Extent, error) {
	now, err := s.db.Clock(ctx)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	list := pg.SmallRows[maintenanceRow]{
		What: "maintenance windows", Alias: "w", Order: pg.NewestFirst(), Columns: append([]string{"w.*"}, maintenanceColumns()...),
		Selected: func(q *bun.SelectQuery) *bun.SelectQuery {
			return whereMaintenance(q.Where("w.org_id = ? AND w.deleted_at IS NULL", orgID), f, now)
		},
		Position: func(r *maintenanceRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}
	rows, extent, err := list.Page(ctx, s.db, f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	windows := make([]maintenance.Status, len(rows))
	for i := range rows {
		if windows[i], err = rows[i].status(now); err != nil {
			return nil, listing.Extent{}, pg.Wrap("list maintenance windows", err)
		}
	}
	return windows, extent, nil
}

func whereMaintenance(q *bun.SelectQuery, f maintenance.Filter, now time.Time) *bun.SelectQuery {
	const occurrence = "EXISTS (SELECT FROM maintenance_occurrences AS o WHERE o.window_id = w.id AND o.removed_at IS NULL AND o.ends_at > ?"
	q = definitions.WhereManaged(q, "w", f.Managed)
	if f.CheckID != nil {
		q = q.Where("EXISTS (SELECT FROM checks AS c WHERE c.id = ? AND "+loops.Covers+")", *f.CheckID)
	}
	switch f.State {
	case maintenance.Active:
		q = q.Where(occurrence+" AND o.starts_at <= ?)", now, now)
	case maintenance.Upcoming:
		q = q.Where("w.enabled AND "+occurrence+") AND NOT "+occurrence+" AND o.starts_at <= ?)", now, now, now)
	case maintenance.Ended:
		q = q.Where("w.enabled AND NOT "+occurrence+")", now)
	case maintenance.Disabled:
		q = q.Where("NOT w.enabled AND NOT "+occurrence+" AND o.starts_at <= ?)", now, now)
	}
	return q
}
