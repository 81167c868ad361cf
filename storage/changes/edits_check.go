// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/beats"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// createChecks stores new checks and the rows of their loops, whose slot 0 is now.
func (e *Edits) createChecks(ctx context.Context, changes *project.Changes) error {
	var rows []definitions.CheckRow
	var started []loops.Row
	for i := range changes.Checks {
		edit := &changes.Checks[i]
		if edit.Before != nil {
			continue
		}
		check := edit.After
		e.stamp(0, stamps{&check.ID, &check.CreatedAt, &check.UpdatedAt, &check.Version, &check.AppliedVersion})
		check.Anchor, check.Revision = vigil.NewAnchor(check.ID, e.now, check.Interval), 1
		check.Health, check.LastChecked = vigil.Unknown, nil
		if check.ExpiresAt != nil {
			check.ExpiresAt = new(pg.Micro(*check.ExpiresAt))
		}
		row, err := e.db.definitions.SealedRow(check)
		if err != nil {
			return err
		}
		rows, started = append(rows, *row), append(started, loops.NewRows(check, check.Regions, e.now)...)
		note(e, "check", check.ID, edit)
		e.woken = append(e.woken, vigil.CheckEdit{Before: vigil.Check{ID: check.ID}, After: *check, Changed: true})
	}
	if err := insertAll(ctx, e.tx, rows, "check"); err != nil {
		if pg.Violates(err, "checks_pkey") {
			return vigil.Errorf(vigil.CodeConflict, "A check with this id exists already.")
		}
		return err
	}
	if err := loops.Insert(ctx, e.tx, started); err != nil {
		return err
	}
	for i := range e.woken {
		if err := beats.EnsureTokens(ctx, e.tx, e.db.definitions.Keyring, &e.woken[i].After); err != nil {
			return err
		}
	}
	return e.countCreations(ctx, len(rows))
}

// leaveChecks takes checks that are about to be deleted from the pages, the maintenance
// windows and the subscriptions that name them, and ends their incidents. Their rules are read for that.
func (e *Edits) leaveChecks(ctx context.Context, changes *project.Changes) (err error) {
	for i := range changes.Checks {
		if edit := &changes.Checks[i]; edit.After == nil {
			note(e, "check", edit.Before.ID, edit)
			e.deleted = append(e.deleted, &vigil.CheckEdit{Before: *edit.Before, Changed: true})
		}
	}
	if len(e.deleted) == 0 {
		return nil
	}
	slices.SortFunc(e.deleted, func(x, y *vigil.CheckEdit) int { return vigil.CompareIDs(x.Before.ID, y.Before.ID) })
	ids := incidents.EditedChecks(e.deleted)
	if err := e.db.leavePages(ctx, e.tx, ids...); err != nil {
		return err
	}
	if err := e.db.leaveMaintenance(ctx, e.tx, ids...); err != nil {
		return err
	}
	if err := e.leaveSubscriptions(ctx, ids); err != nil {
		return err
	}
	e.ends, err = e.db.incidents.EndIncidents(ctx, e.tx, e.deleted)
	return err
}

// lockLoops locks the loops of the checks that change or are deleted, and of those whose rules
// change. The tombstones of regions that come back are cleared before: this may wait for one
// that is held, and writers must not wait with it.
func (e *Edits) lockLoops(ctx context.Context, changes *project.Changes) (err error) {
	e.raised = rulesChanged(changes)
	e.refreshed = slices.Clone(e.raised)
	var redefined []*vigil.Check
	for _, edit := range changes.Checks {
		if edit.Before != nil && edit.After != nil && !sameDefinition(edit.Before, edit.After) {
			redefined, e.refreshed = append(redefined, edit.After), append(e.refreshed, edit.After.ID)
		}
	}
	touched := append(incidents.EditedChecks(e.deleted), e.refreshed...)
	if err := loops.ClearTombstones(ctx, e.tx, redefined); err != nil || len(touched) == 0 {
		return err
	}
	e.loops, err = loops.Lock(ctx, e.tx, touched)
	return err
}

// sweepIncidents has the incidents of the checks that change swept soon, in case that the process ends before it signals
// their workflows. It comes before the votes of disabled checks and removed regions are deleted, for the order of locks.
func (e *Edits) sweepIncidents(ctx context.Context, _ *project.Changes) error {
	return incidents.SweepIncidentsSoon(ctx, e.tx, e.refreshed...)
}

// updateChecks changes checks. Where what manages a check changes alone, no loop needs to know.
func (e *Edits) updateChecks(ctx context.Context, changes *project.Changes) error {
	for i := range changes.Checks {
		edit := &changes.Checks[i]
		before, after := edit.Before, edit.After
		if before == nil || after == nil {
			continue
		}
		if e.at = after.ID; e.apply {
			after.AppliedVersion = before.Version + 1
		}
		note(e, "check", after.ID, edit)
		if sameDefinition(before, after) {
			if err := e.db.storeManager(ctx, e.tx, before, after); err != nil {
				return err
			}
			continue
		}
		if err := e.db.changeDefinition(ctx, e.tx, before, after, e.loops[after.ID]); err != nil {
			return err
		}
		if before.Enabled != after.Enabled {
			e.toggled = append(e.toggled, events.CheckToggled(after, e.now))
		}
		e.woken = append(e.woken, vigil.CheckEdit{Before: *before, After: *after, Changed: true})
	}
	e.at = uuid.Nil
	return nil
}

// deleteChecks deletes checks, their rules and their loops, with a tombstone for each loop. A
// writer that waits for the locks of the loops delays the results of other checks too, so all
// that may be many rows is deleted later (see purge).
func (e *Edits) deleteChecks(ctx context.Context, _ *project.Changes) error {
	if len(e.deleted) == 0 {
		return nil
	}
	for _, edit := range e.deleted {
		locked := e.loops[edit.Before.ID]
		edit.Stopped = make([]string, len(locked))
		for i := range locked {
			edit.Stopped[i] = locked[i].Region
		}
		if err := loops.AddTombstones(ctx, e.tx, edit.Before.ID, edit.Stopped, 0); err != nil {
			return err
		}
	}
	_, err := e.tx.NewRaw("DELETE FROM checks WHERE id = ANY(?)", pgdialect.Array(incidents.EditedChecks(e.deleted))).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// publish stores the ends of the incidents of deleted checks, and the events of checks that are
// enabled or disabled. It comes last, when no row is
// waited for any more: it locks the organization's stream.
func (e *Edits) publish(ctx context.Context, _ *project.Changes) error {
	for i := range e.toggled {
		if err := e.db.incidents.PublishSystem(ctx, e.tx, e.toggled[i]); err != nil {
			return err
		}
	}
	if err := e.db.incidents.PublishEnds(ctx, e.tx, e.ends, e.deleted); err != nil {
		return err
	}
	for _, edit := range e.deleted {
		e.woken = append(e.woken, *edit)
	}
	return nil
}
