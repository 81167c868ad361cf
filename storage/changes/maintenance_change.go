// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// UpdateMaintenanceWindow changes a window of the organization: change edits a copy of what is
// stored, and may return an error, which UpdateMaintenanceWindow returns unchanged. A change
// that leaves the window equal is none. Occurrences that have ended stay as they were, except
// the one of a window that occurs once. Errors are those of CreateMaintenanceWindow.
func (s *Store) UpdateMaintenanceWindow(
	ctx context.Context, orgID, id uuid.UUID, change func(*maintenance.Window) error,
) (maintenance.Status, error) {
	var status maintenance.Status
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, orgID)
		if err != nil {
			return err
		}
		before, err := lockMaintenance(ctx, tx, orgID, id)
		if err != nil {
			return err
		}
		after := before
		after.Scope.CheckIDs, after.Scope.Labels = slices.Clone(before.Scope.CheckIDs), slices.Clone(before.Scope.Labels)
		if err := change(&after); err != nil {
			return err
		}
		after.ID, after.OrgID, after.CreatedAt = before.ID, before.OrgID, before.CreatedAt
		after.AppliedVersion = definitions.ManagedChange(before.ManagedBy, after.ManagedBy, before.AppliedVersion)
		if !sameMaintenance(&before, &after) {
			changes := &project.Changes{Windows: []project.Edit[maintenance.Window]{{Before: &before, After: &after}}}
			if err := s.edit(ctx, tx, orgID, tier, changes); err != nil {
				return err
			}
		}
		status, err = readMaintenance(ctx, tx, orgID, id)
		return err
	})
	return status, pg.Wrap("update maintenance window", err)
}

// insertMaintenance stores a new window whose ids and times are set.
func (s *Store) insertMaintenance(ctx context.Context, tx bun.Tx, w *maintenance.Window, tier account.Tier) error {
	if err := checkScope(ctx, tx, w, tier); err != nil {
		return err
	}
	if err := insertAll(ctx, tx, []maintenanceRow{*rowOfMaintenance(w)}, "maintenance window"); err != nil {
		return err
	}
	if err := s.storeOccurrences(ctx, tx, nil, w); err != nil {
		return err
	}
	return s.results.QueueReclassification(ctx, tx, w.ID)
}

// storeMaintenance stores the new definition of a window whose row is locked; before is nil for
// a new one.
func (s *Store) storeMaintenance(ctx context.Context, tx bun.Tx, before, after *maintenance.Window, tier account.Tier) error {
	if before == nil {
		return s.insertMaintenance(ctx, tx, after, tier)
	}
	if !sameScope(&before.Scope, &after.Scope) {
		if err := checkScope(ctx, tx, after, tier); err != nil {
			return err
		}
	}
	renamed := *after
	renamed.Name = before.Name
	changed := !sameMaintenance(before, &renamed)
	if changed {
		if err := s.results.QueueReclassification(ctx, tx, after.ID); err != nil {
			return err
		}
	}
	if _, err := tx.NewUpdate().Model(rowOfMaintenance(after)).WherePK().ExcludeColumn("id", "org_id", "created_at").Exec(ctx); err != nil {
		return definitions.ManagedTaken(definitions.Unstorable(fmt.Errorf("store: %w", err)), "maintenance window", after.ManagedBy)
	}
	if err := s.storeOccurrences(ctx, tx, before, after); err != nil || !changed {
		return err
	}
	return s.results.QueueReclassification(ctx, tx, after.ID)
}

func sameMaintenance(a, b *maintenance.Window) bool {
	return a.Name == b.Name && sameScope(&a.Scope, &b.Scope) && sameSchedule(&a.Schedule, &b.Schedule) &&
		a.Probing == b.Probing && a.Uptime == b.Uptime && a.Enabled == b.Enabled && vigil.SameManager(a.ManagedBy, b.ManagedBy)
}

func sameScope(a, b *maintenance.Scope) bool {
	return a.All == b.All && slices.Equal(a.CheckIDs, b.CheckIDs) && slices.Equal(a.Labels, b.Labels)
}

func sameSchedule(a, b *maintenance.Schedule) bool {
	if (a.Until == nil) != (b.Until == nil) || a.Until != nil && !a.Until.Equal(*b.Until) {
		return false
	}
	return a.StartsAt.Equal(b.StartsAt) && a.Timezone == b.Timezone && a.Duration == b.Duration && a.RRule == b.RRule && a.Cron == b.Cron
}

// lockMaintenance reads a window of the organization and locks its row.
func lockMaintenance(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) (maintenance.Window, error) {
	var row maintenanceRow
	err := tx.NewSelect().Model(&row).Where("w.id = ? AND w.org_id = ? AND w.deleted_at IS NULL", id, orgID).
		For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return maintenance.Window{}, pg.Found("maintenance window", err)
	}
	return row.window(), nil
}

// EndMaintenance ends the running occurrences of a window now; later ones stay. A window of
// which none runs is a CodeConflict error, and a version that match does not accept a
// CodePrecondition error.
func (s *Store) EndMaintenance(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) (maintenance.Status, error) {
	var status maintenance.Status
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		window, err := lockMaintenance(ctx, tx, orgID, id)
		if err != nil {
			return err
		}
		if err := match.Check("maintenance window", window.Version); err != nil {
			return err
		}
		if err := s.results.QueueReclassification(ctx, tx, id); err != nil {
			return err
		}
		ended, err := endRunning(ctx, tx, id)
		if err != nil {
			return err
		}
		if ended == 0 {
			return vigil.Errorf(vigil.CodeConflict, "No occurrence of this maintenance window runs now, so there is nothing to end.")
		}
		if err := s.results.QueueReclassification(ctx, tx, id); err != nil {
			return err
		}
		status, err = readMaintenance(ctx, tx, orgID, id)
		return err
	})
	return status, pg.Wrap("end maintenance", err)
}

// endRunning ends the occurrences of a window that run now, and returns how many there were.
// The time of the transaction is their end, so that reading them in it finds them ended.
func endRunning(ctx context.Context, tx bun.Tx, window uuid.UUID) (int64, error) {
	result, err := tx.NewRaw(`UPDATE maintenance_occurrences SET ends_at = now(), ended_early = true, end_handled = false,
			`+changedNow+`
		WHERE window_id = ? AND removed_at IS NULL AND starts_at < now() AND ends_at > now()`, window).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("end the occurrences: %w", err)
	}
	return result.RowsAffected()
}

// DeleteMaintenanceWindow ends a window of the organization and removes it. What its past
// occurrences excluded stays excluded. An unknown one is a CodeNotFound error, and a version
// that match does not accept a CodePrecondition error.
func (s *Store) DeleteMaintenanceWindow(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		window, err := lockMaintenance(ctx, tx, orgID, id)
		if err != nil {
			return err
		}
		if err := match.Check("maintenance window", window.Version); err != nil {
			return err
		}
		return s.edit(ctx, tx, orgID, "", &project.Changes{Windows: []project.Edit[maintenance.Window]{{Before: &window}}})
	})
	return pg.Wrap("delete maintenance window", err)
}

// removeMaintenance ends and marks a window whose row is locked. Nothing manages it any more.
func (s *Store) removeMaintenance(ctx context.Context, tx bun.Tx, window *maintenance.Window) error {
	if err := s.results.QueueReclassification(ctx, tx, window.ID); err != nil {
		return err
	}
	_, err := tx.NewRaw(`UPDATE maintenance_windows SET deleted_at = now(), enabled = false,
		managed_tool = NULL, managed_project = NULL, managed_key = NULL WHERE id = ?`, window.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	after := *window
	after.Enabled = false
	if err := s.storeOccurrences(ctx, tx, window, &after); err != nil {
		return err
	}
	return s.results.QueueReclassification(ctx, tx, window.ID)
}

// leaveMaintenance takes checks that are about to be deleted out of the windows that name
// them, and raises the versions of these. It locks all of them in the order of their ids,
// which prevents deadlocks.
func (s *Store) leaveMaintenance(ctx context.Context, tx bun.Tx, checks ...uuid.UUID) error {
	_, err := tx.NewRaw(`WITH named AS (
			SELECT id FROM maintenance_windows WHERE check_ids && ?0 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
		) UPDATE maintenance_windows AS w SET version = version + 1, updated_at = ?1,
			check_ids = ARRAY(SELECT c FROM unnest(w.check_ids) AS c WHERE c <> ALL(?0))
		FROM named WHERE w.id = named.id`, pgdialect.Array(checks), s.db.Instant()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("leave the maintenance windows: %w", err)
	}
	return nil
}

// storedOccurrence is a row of maintenance_occurrences.
type storedOccurrence struct {
	bun.BaseModel `bun:"table:maintenance_occurrences,alias:o"`

	WindowID uuid.UUID `bun:"window_id,pk,type:uuid"`
	OrgID    uuid.UUID `bun:"org_id,type:uuid"`
	StartsAt time.Time `bun:"starts_at,pk"`
	EndsAt   time.Time `bun:"ends_at"`
	Shifted  bool      `bun:"shifted"`
}

// storeOccurrences makes the stored occurrences of a window those of its definition, after a
// change of it; before is nil for a new one. What has ended stays, except in a window that
// occurs once. An occurrence that runs and is not planned any more ends now.
func (s *Store) storeOccurrences(ctx context.Context, tx bun.Tx, before, after *maintenance.Window) error {
	var now time.Time
	if err := tx.NewRaw("SELECT now()").Scan(ctx, &now); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	rescheduled := before == nil || before.Enabled != after.Enabled || !sameSchedule(&before.Schedule, &after.Schedule)
	if !rescheduled {
		return touchOccurrences(ctx, tx, after.ID, now)
	}
	var planned []maintenance.Occurrence
	if after.Enabled {
		since := now
		if before == nil || !after.Recurs() {
			since = now.Add(-maintenance.MaxPast - after.Duration)
		}
		planned = after.Planned(now, since)
	}
	restart := before == nil || !before.Enabled || !after.Recurs()
	if err := extended(ctx, tx, after.ID); err != nil {
		return err
	}
	return replaceOccurrences(ctx, tx, after, planned, restart)
}

// changedNow marks the rows that an UPDATE writes for readers of changes, who find what was
// committed after their last look.
const changedNow = "changed_at = now(), changed_xid = pg_current_xact_id()"

// touchOccurrences lets readers of changes see what a window does or covers now.
func touchOccurrences(ctx context.Context, tx bun.Tx, window uuid.UUID, now time.Time) error {
	_, err := tx.NewRaw(`UPDATE maintenance_occurrences SET `+changedNow+`
		WHERE window_id = ? AND ends_at > ? AND removed_at IS NULL`, window, now).Exec(ctx)
	if err != nil {
		return fmt.Errorf("touch the occurrences: %w", err)
	}
	return nil
}

// replaceOccurrences stores the planned occurrences of a window and removes or ends the
// others that have not ended. With restart an occurrence that was ended early runs again.
func replaceOccurrences(ctx context.Context, tx bun.Tx, w *maintenance.Window, planned []maintenance.Occurrence, restart bool) error {
	starts := make([]time.Time, len(planned))
	rows := make([]storedOccurrence, len(planned))
	for i, o := range planned {
		starts[i] = o.StartsAt
		rows[i] = storedOccurrence{WindowID: w.ID, OrgID: w.OrgID, StartsAt: o.StartsAt, EndsAt: o.EndsAt, Shifted: o.Shifted}
	}
	// A window that occurs once has one span: moving it moves also what has ended.
	_, err := tx.NewRaw(`UPDATE maintenance_occurrences SET `+changedNow+`,
			removed_at = CASE WHEN starts_at >= now() OR ?0 THEN now() END,
			ends_at = CASE WHEN starts_at >= now() OR ?0 THEN ends_at ELSE least(ends_at, now()) END, end_handled = false
		WHERE window_id = ?1 AND removed_at IS NULL AND (ends_at > now() OR ?0) AND starts_at <> ALL(?2)`,
		moved(w), w.ID, pgdialect.Array(starts)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("remove occurrences: %w", err)
	}
	if len(rows) == 0 {
		return nil
	}
	// An occurrence that begins again is looked at again, at both edges.
	_, err = tx.NewInsert().Model(&rows).On(`CONFLICT (window_id, starts_at) DO UPDATE
		SET ends_at = EXCLUDED.ends_at, shifted = EXCLUDED.shifted, ended_early = false, end_handled = false,
			start_handled = o.start_handled AND o.removed_at IS NULL,
			`+changedNow+`, removed_at = NULL`).
		Where("? OR NOT o.ended_early", restart).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store occurrences: %w", err)
	}
	return nil
}

// moved reports whether a change of the window also changes its past.
func moved(w *maintenance.Window) bool { return w.Enabled && !w.Recurs() }

func extended(ctx context.Context, tx bun.Tx, window uuid.UUID) error {
	if _, err := tx.NewRaw("UPDATE maintenance_windows SET extended_at = now() WHERE id = ?", window).Exec(ctx); err != nil {
		return fmt.Errorf("note the extension: %w", err)
	}
	return nil
}

const (
	maintenanceBatch = 200 // windows that ExtendMaintenance reads at once
	// extendEvery is less than a day: the occurrences that are stored ahead last for days.
	extendEvery = 20 * time.Hour
)

// ExtendMaintenance stores the occurrences of enabled windows that the time ahead has gained,
// or that a new version of the time zones has moved, for each window once in 20 hours. An
// occurrence that runs stays as it is. It is for housekeeping.
func (s *Store) ExtendMaintenance(ctx context.Context) error {
	var last uuid.UUID
	for {
		var rows []maintenanceRow
		err := s.db.NewSelect().Model(&rows).Where("w.enabled AND w.deleted_at IS NULL AND (w.rrule <> '' OR w.cron <> '') AND w.id > ?", last).
			Where("w.extended_at < now() - make_interval(secs => ?)", extendEvery.Seconds()).OrderExpr("w.id").Limit(maintenanceBatch).Scan(ctx)
		if err != nil || len(rows) == 0 {
			return pg.Wrap("read maintenance windows", err)
		}
		for i := range rows {
			last = rows[i].ID
			if err := s.extend(ctx, rows[i].OrgID, rows[i].ID); err != nil {
				return pg.Wrap("extend maintenance window "+last.String(), err)
			}
		}
	}
}

func (s *Store) extend(ctx context.Context, orgID, id uuid.UUID) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		w, err := lockMaintenance(ctx, tx, orgID, id)
		if err != nil || !w.Enabled {
			return err
		}
		var now time.Time
		if err := tx.NewRaw("SELECT now()").Scan(ctx, &now); err != nil {
			return err
		}
		planned := w.Planned(now, now)
		planned = slices.DeleteFunc(planned, func(o maintenance.Occurrence) bool { return !o.StartsAt.After(now) })
		if err := extended(ctx, tx, id); err != nil {
			return err
		}
		return extendOccurrences(ctx, tx, &w, planned)
	})
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil // deleted meanwhile
	}
	return err
}

// extendOccurrences makes the later occurrences of a window the planned ones, and changes only
// the rows that differ.
func extendOccurrences(ctx context.Context, tx bun.Tx, w *maintenance.Window, planned []maintenance.Occurrence) error {
	starts := make([]time.Time, len(planned))
	rows := make([]storedOccurrence, len(planned))
	for i, o := range planned {
		starts[i] = o.StartsAt
		rows[i] = storedOccurrence{WindowID: w.ID, OrgID: w.OrgID, StartsAt: o.StartsAt, EndsAt: o.EndsAt, Shifted: o.Shifted}
	}
	_, err := tx.NewRaw(`UPDATE maintenance_occurrences SET `+changedNow+`, removed_at = now()
		WHERE window_id = ? AND removed_at IS NULL AND starts_at > now() AND starts_at <> ALL(?)`, w.ID, pgdialect.Array(starts)).Exec(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	_, err = tx.NewInsert().Model(&rows).On(`CONFLICT (window_id, starts_at) DO UPDATE
		SET ends_at = EXCLUDED.ends_at, shifted = EXCLUDED.shifted,
			` + changedNow + `, removed_at = NULL`).
		Where("o.removed_at IS NOT NULL OR o.ends_at <> EXCLUDED.ends_at OR o.shifted <> EXCLUDED.shifted").
		Exec(ctx)
	return err
}
