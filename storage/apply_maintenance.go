// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"github.com/vigil-monitor/vigil/maintenance"
	"github.com/vigil-monitor/vigil/project"
)

// readWindows reads the maintenance windows of the project.
func (a *applyRun) readWindows(ctx context.Context, inv *project.Inventory) error {
	if err := a.lock(ctx, "maintenance_windows", project.KindMaintenance); err != nil {
		return err
	}
	var rows []maintenanceRow
	err := a.tx.NewSelect().Model(&rows).Where("w.deleted_at IS NULL").
		Where("w.id IN (?)", a.selection("maintenance_windows", project.KindMaintenance)).OrderExpr("w.id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the maintenance windows: %w", err)
	}
	inv.Windows = make([]maintenance.Window, len(rows))
	for i := range rows {
		inv.Windows[i] = rows[i].window()
	}
	return nil
}

func (a *applyRun) storeWindows(ctx context.Context, changes *project.Changes) error {
	for i := range changes.Windows {
		edit := &changes.Windows[i]
		window := edit.After
		if window == nil {
			continue
		}
		noteEdit(a, "maintenance_window", window.ID, edit)
		window.UpdatedAt, window.Version = a.now, 1
		if edit.Before != nil {
			window.Version = edit.Before.Version + 1
			window.AppliedVersion = window.Version
			if err := a.store.storeMaintenance(ctx, a.tx, edit.Before, window, a.request.Plan.Tier); err != nil {
				return err
			}
			continue
		}
		window.CreatedAt, window.AppliedVersion = a.now, 1
		if err := a.store.insertMaintenance(ctx, a.tx, window, a.request.Plan.Tier); err != nil {
			return err
		}
	}
	return nil
}

func (a *applyRun) deleteWindows(ctx context.Context, changes *project.Changes) error {
	for i := range changes.Windows {
		if edit := &changes.Windows[i]; edit.After == nil {
			noteEdit(a, "maintenance_window", edit.Before.ID, edit)
			if err := a.store.removeMaintenance(ctx, a.tx, edit.Before); err != nil {
				return err
			}
		}
	}
	return nil
}
