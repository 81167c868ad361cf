// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/project"
)

// deleteRest deletes pages, checks and channels.
func (a *applyRun) deleteRest(ctx context.Context, changes *project.Changes) error {
	for i := range changes.Pages {
		if edit := &changes.Pages[i]; edit.After == nil {
			noteEdit(a, "status_page", edit.Before.ID, edit)
			if _, err := a.tx.NewRaw("DELETE FROM status_pages WHERE id = ?", edit.Before.ID).Exec(ctx); err != nil {
				return fmt.Errorf("delete a status page: %w", err)
			}
		}
	}
	if err := a.deleteWindows(ctx, changes); err != nil {
		return err
	}
	if err := a.deleteChecks(ctx, changes); err != nil {
		return err
	}
	for i := range changes.Channels {
		if edit := &changes.Channels[i]; edit.After == nil {
			noteEdit(a, "channel", edit.Before.ID, edit)
			if err := deleteChannel(ctx, a.tx, a.request.OrgID, edit.Before.ID, false, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// endIncidents ends the incidents of the checks that are deleted, while their rules exist.
func (a *applyRun) endIncidents(ctx context.Context, changes *project.Changes) (err error) {
	for i := range changes.Checks {
		if edit := &changes.Checks[i]; edit.After == nil {
			a.deleted = append(a.deleted, &vigil.CheckEdit{Before: *edit.Before, Changed: true})
		}
	}
	slices.SortFunc(a.deleted, func(x, y *vigil.CheckEdit) int { return vigil.CompareIDs(x.Before.ID, y.Before.ID) })
	a.ends, err = a.store.endIncidents(ctx, a.tx, a.deleted)
	return err
}

func (a *applyRun) deleteChecks(ctx context.Context, changes *project.Changes) error {
	if len(a.deleted) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(a.deleted))
	for i, edit := range a.deleted {
		ids[i] = edit.Before.ID
	}
	if err := a.store.leavePages(ctx, a.tx, ids...); err != nil {
		return err
	}
	if err := a.store.leaveMaintenance(ctx, a.tx, ids...); err != nil {
		return err
	}
	for i := range changes.Checks {
		if edit := &changes.Checks[i]; edit.After == nil {
			noteEdit(a, "check", edit.Before.ID, edit)
		}
	}
	for _, edit := range a.deleted {
		var err error
		if edit.Stopped, err = deleteOne(ctx, a.tx, edit.Before.ID); err != nil {
			return err
		}
	}
	return nil
}

// publishEnds stores the ends of the incidents of deleted checks. It comes last, when no
// row is waited for any more: it locks the organization's stream.
func (a *applyRun) publishEnds(ctx context.Context, _ *project.Changes) error {
	if err := a.store.publishEnds(ctx, a.tx, a.ends, a.deleted); err != nil {
		return err
	}
	for _, edit := range a.deleted {
		a.applied.Checks = append(a.applied.Checks, *edit)
	}
	return nil
}
