// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/project"
)

// writePages stores the edits of status pages. The checks that they show are stored.
func (e *Edits) writePages(ctx context.Context, changes *project.Changes) error {
	for i := range changes.Pages {
		edit := &changes.Pages[i]
		page := edit.After
		if page == nil {
			continue
		}
		before := int64(0)
		if edit.Before != nil {
			before = edit.Before.Version
		}
		e.stamp(before, stamps{&page.ID, &page.CreatedAt, &page.UpdatedAt, &page.Version, &page.AppliedVersion})
		note(e, "status_page", page.ID, edit)
		if err := storePage(ctx, e.tx, page, edit.Before == nil); err != nil {
			return err
		}
	}
	for i := range changes.Pages {
		if edit := &changes.Pages[i]; edit.After == nil {
			note(e, "status_page", edit.Before.ID, edit)
			if _, err := e.tx.NewRaw("DELETE FROM status_pages WHERE id = ?", edit.Before.ID).Exec(ctx); err != nil {
				return fmt.Errorf("delete a status page: %w", err)
			}
		}
	}
	return nil
}

// writeWindows stores the edits of maintenance windows. The checks that they name are stored.
func (e *Edits) writeWindows(ctx context.Context, changes *project.Changes) error {
	left := make(map[uuid.UUID]bool, len(e.deleted)) // they have left the windows that are stored
	for _, edit := range e.deleted {
		left[edit.Before.ID] = true
	}
	for i := range changes.Windows {
		edit := &changes.Windows[i]
		window := edit.After
		if window == nil {
			continue
		}
		before := int64(0)
		if edit.Before != nil {
			before = edit.Before.Version
		}
		if len(left) > 0 {
			window.Scope.CheckIDs = slices.DeleteFunc(slices.Clone(window.Scope.CheckIDs), func(id uuid.UUID) bool { return left[id] })
		}
		e.stamp(before, stamps{&window.ID, &window.CreatedAt, &window.UpdatedAt, &window.Version, &window.AppliedVersion})
		note(e, "maintenance_window", window.ID, edit)
		if err := e.db.storeMaintenance(ctx, e.tx, edit.Before, window, e.plan.Tier); err != nil {
			return err
		}
	}
	for i := range changes.Windows {
		if edit := &changes.Windows[i]; edit.After == nil {
			note(e, "maintenance_window", edit.Before.ID, edit)
			if err := e.db.removeMaintenance(ctx, e.tx, edit.Before); err != nil {
				return err
			}
		}
	}
	return nil
}
