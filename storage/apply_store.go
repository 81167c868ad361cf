// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/account"
	"github.com/vigil-monitor/vigil/project"
)

// tables are those of the kinds of definitions that apply manages.
func managedTables() map[project.Kind]string {
	return map[project.Kind]string{
		project.KindChannel: "channels", project.KindCheck: "checks", project.KindRule: "alert_rules", project.KindStatusPage: "status_pages",
		project.KindMaintenance: "maintenance_windows",
	}
}

// applyChanges stores the edits: what others refer to first, and deletions last.
func (s *Store) applyChanges(ctx context.Context, a *applyRun, changes *project.Changes) error {
	for _, step := range []func(context.Context, *project.Changes) error{
		a.freeKeys, a.storeChannels, a.createChecks, a.updateChecks, a.endIncidents, a.storeRules, a.storePages, a.storeWindows,
		a.deleteRest, a.settle, a.publishEnds,
	} {
		if err := step(ctx, changes); err != nil {
			return err
		}
	}
	return a.storeAudit(ctx)
}

// freeKeys lets go of the keys that are about to change, so that another definition can
// have them.
func (a *applyRun) freeKeys(ctx context.Context, changes *project.Changes) error {
	moved := make(map[project.Kind][]uuid.UUID)
	note := func(kind project.Kind, id uuid.UUID, before, after *vigil.ManagedBy) {
		if before != nil && !vigil.SameManager(before, after) {
			moved[kind] = append(moved[kind], id)
		}
	}
	for _, edit := range changes.Channels {
		if edit.Before != nil && edit.After != nil {
			note(project.KindChannel, edit.Before.ID, edit.Before.ManagedBy, edit.After.ManagedBy)
		}
	}
	for _, edit := range changes.Checks {
		if edit.Before != nil && edit.After != nil {
			note(project.KindCheck, edit.Before.ID, edit.Before.ManagedBy, edit.After.ManagedBy)
		}
	}
	for _, edit := range changes.Rules {
		if edit.Before != nil && edit.After != nil {
			note(project.KindRule, edit.Before.ID, edit.Before.ManagedBy, edit.After.ManagedBy)
		}
	}
	for _, edit := range changes.Pages {
		if edit.Before != nil && edit.After != nil {
			note(project.KindStatusPage, edit.Before.ID, edit.Before.ManagedBy, edit.After.ManagedBy)
		}
	}
	for _, edit := range changes.Windows {
		if edit.Before != nil && edit.After != nil {
			note(project.KindMaintenance, edit.Before.ID, edit.Before.ManagedBy, edit.After.ManagedBy)
		}
	}
	for kind, ids := range moved {
		_, err := a.tx.NewRaw("UPDATE ? SET managed_tool = NULL, managed_project = NULL, managed_key = NULL WHERE id = ANY(?)",
			bun.Ident(managedTables()[kind]), pgdialect.Array(ids)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("free keys: %w", err)
		}
	}
	return nil
}

func (a *applyRun) storeChannels(ctx context.Context, changes *project.Changes) error {
	var created []channelRow
	for i := range changes.Channels {
		edit := &changes.Channels[i]
		if edit.After == nil {
			continue
		}
		after := edit.After
		after.UpdatedAt, after.Version = a.now, 1
		if edit.Before == nil {
			after.CreatedAt = a.now
		} else {
			after.Version = edit.Before.Version + 1
		}
		after.AppliedVersion = after.Version
		row, err := a.store.sealedChannel(after)
		if err != nil {
			return err
		}
		noteEdit(a, "channel", after.ID, edit)
		if edit.Before == nil {
			created = append(created, *row)
			continue
		}
		if _, err := a.tx.NewUpdate().Model(row).WherePK().ExcludeColumn("id", "org_id", "type", "created_at").Exec(ctx); err != nil {
			return managedTaken(unstorable(fmt.Errorf("store a channel: %w", err)), "notification channel", after.ManagedBy)
		}
	}
	return insertAll(ctx, a.tx, created, "channels")
}

// insertAll inserts rows with one statement.
func insertAll[R any](ctx context.Context, tx bun.Tx, rows []R, what string) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return unstorable(fmt.Errorf("insert %s: %w", what, err))
	}
	return nil
}

func (a *applyRun) createChecks(ctx context.Context, changes *project.Changes) error {
	var rows []checkRow
	var loops []loopRow
	for i := range changes.Checks {
		edit := &changes.Checks[i]
		if edit.Before != nil {
			continue
		}
		check := edit.After
		check.CreatedAt, check.UpdatedAt, check.Health = a.now, a.now, vigil.Unknown
		check.Anchor, check.Revision, check.Version = vigil.NewAnchor(check.ID, a.now, check.Interval), 1, 1
		check.AppliedVersion = 1
		if check.ExpiresAt != nil {
			expires := micro(*check.ExpiresAt)
			check.ExpiresAt = &expires
		}
		row, err := a.store.sealedRow(check)
		if err != nil {
			return err
		}
		rows, loops = append(rows, *row), append(loops, newLoops(check, check.Regions, a.now)...)
		noteEdit(a, "check", check.ID, edit)
		a.applied.Checks = append(a.applied.Checks, vigil.CheckEdit{Before: vigil.Check{ID: check.ID}, After: *check, Changed: true})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := insertAll(ctx, a.tx, rows, "checks"); err != nil {
		return err
	}
	if err := insertAll(ctx, a.tx, loops, "loops"); err != nil {
		return err
	}
	if a.request.Allow.CreationsPerHour == account.Unlimited {
		return nil // as countCreation
	}
	_, err := a.tx.NewRaw("DELETE FROM check_creations WHERE org_id = ? AND at <= ?", a.request.OrgID, a.now.Add(-creationWindow)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete old creations: %w", err)
	}
	_, err = a.tx.NewRaw("INSERT INTO check_creations (org_id, at) SELECT ?, ? FROM generate_series(1, ?)", a.request.OrgID, a.now, len(rows)).
		Exec(ctx)
	return wrap("record the creations", err)
}

// updateChecks changes checks. The loops of all that change, or are deleted, are locked at
// once, in the lock order of the result writer.
func (a *applyRun) updateChecks(ctx context.Context, changes *project.Changes) error {
	var touched []uuid.UUID
	for _, edit := range changes.Checks {
		switch {
		case edit.Before == nil:
		case edit.After == nil:
			touched = append(touched, edit.Before.ID)
		case !sameDefinition(edit.Before, edit.After):
			// Before the loops are locked: this may wait for a tombstone that is held.
			if err := clearTombstones(ctx, a.tx, edit.After.ID, edit.After.Regions); err != nil {
				return err
			}
			touched = append(touched, edit.Before.ID)
		}
	}
	for _, rule := range changes.Rules {
		if rule.Before != nil {
			touched = append(touched, rule.Before.CheckID)
		} else {
			touched = append(touched, rule.After.CheckID)
		}
	}
	if len(touched) == 0 && len(changes.Checks) == 0 {
		return nil
	}
	_, err := a.tx.NewRaw("SELECT FROM check_regions WHERE check_id = ANY(?) ORDER BY check_id, region FOR UPDATE", pgdialect.Array(touched)).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("lock the loops: %w", err)
	}
	for i := range changes.Checks {
		if edit := &changes.Checks[i]; edit.Before != nil && edit.After != nil {
			if err := a.updateCheck(ctx, edit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *applyRun) updateCheck(ctx context.Context, edit *project.Edit[vigil.Check]) error {
	before, after := edit.Before, edit.After
	after.AppliedVersion = before.Version + 1
	noteEdit(a, "check", after.ID, edit)
	if sameDefinition(before, after) {
		return a.store.storeManager(ctx, a.tx, before, after)
	}
	if err := a.store.changeDefinition(ctx, a.tx, before, after); err != nil {
		return err
	}
	a.applied.Checks = append(a.applied.Checks, vigil.CheckEdit{Before: *before, After: *after, Changed: true})
	return nil
}

func (a *applyRun) storeRules(ctx context.Context, changes *project.Changes) error {
	var created []ruleRow
	var gone, changed []uuid.UUID
	for i := range changes.Rules {
		edit := &changes.Rules[i]
		rule := edit.After
		if rule == nil {
			gone, changed = append(gone, edit.Before.ID), append(changed, edit.Before.CheckID)
			noteEdit(a, "rule", edit.Before.ID, edit)
			continue
		}
		noteEdit(a, "rule", rule.ID, edit)
		changed = append(changed, rule.CheckID)
		rule.UpdatedAt, rule.Version = a.now, 1
		if edit.Before == nil {
			// Rules of the same severity are in the order of their age.
			rule.CreatedAt = a.now
		} else {
			rule.Version = edit.Before.Version + 1
		}
		rule.AppliedVersion = rule.Version
		row, err := rowOfRule(rule)
		if err != nil {
			return err
		}
		if edit.Before == nil {
			created = append(created, *row)
			continue
		}
		if _, err := a.tx.NewUpdate().Model(row).WherePK().ExcludeColumn("id", "org_id", "check_id", "created_at").Exec(ctx); err != nil {
			return unstorable(fmt.Errorf("store a rule: %w", err))
		}
	}
	if err := insertAll(ctx, a.tx, created, "rules"); err != nil {
		return err
	}
	if len(gone) > 0 {
		if _, err := a.tx.NewRaw("DELETE FROM alert_rules WHERE id = ANY(?)", pgdialect.Array(gone)).Exec(ctx); err != nil {
			return fmt.Errorf("delete rules: %w", err)
		}
	}
	return a.raiseRules(ctx, changes, changed)
}

// raiseRules raises the revision of the checks whose rules alone changed.
func (a *applyRun) raiseRules(ctx context.Context, changes *project.Changes, checks []uuid.UUID) error {
	known := make(map[uuid.UUID]bool, len(a.applied.Checks))
	for _, edit := range a.applied.Checks {
		known[edit.Before.ID] = true
	}
	for _, edit := range changes.Checks {
		if edit.After == nil {
			known[edit.Before.ID] = true // it is deleted afterwards
		}
	}
	slices.SortFunc(checks, vigil.CompareIDs)
	checks = slices.DeleteFunc(slices.Compact(checks), func(id uuid.UUID) bool { return known[id] })
	if len(checks) == 0 {
		return nil
	}
	for _, id := range checks {
		check := vigil.Check{ID: id, OrgID: a.request.OrgID}
		a.applied.Checks = append(a.applied.Checks, vigil.CheckEdit{Before: check, After: check, Changed: true})
	}
	return raiseRevision(ctx, a.tx, checks...)
}

func (a *applyRun) storePages(ctx context.Context, changes *project.Changes) error {
	for i := range changes.Pages {
		edit := &changes.Pages[i]
		page := edit.After
		if page == nil {
			continue
		}
		noteEdit(a, "status_page", page.ID, edit)
		page.UpdatedAt, page.Version = a.now, 1
		if edit.Before != nil {
			page.Version = edit.Before.Version + 1
			page.AppliedVersion = page.Version
			if err := storePage(ctx, a.tx, page); err != nil {
				return err
			}
			continue
		}
		page.CreatedAt, page.AppliedVersion = a.now, 1
		if _, err := a.tx.NewInsert().Model(rowOfStatusPage(page)).Exec(ctx); err != nil {
			return slugTaken(err, page)
		}
		if err := storePageChecks(ctx, a.tx, page); err != nil {
			return err
		}
	}
	return nil
}

// settle notes that the present versions of the document's definitions are those that were
// applied.
func (a *applyRun) settle(ctx context.Context, changes *project.Changes) error {
	for kind, ids := range changes.Current {
		if len(ids) == 0 {
			continue
		}
		_, err := a.tx.NewRaw("UPDATE ? SET applied_version = version WHERE id = ANY(?) AND applied_version <> version",
			bun.Ident(managedTables()[kind]), pgdialect.Array(ids)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("settle versions: %w", err)
		}
	}
	return nil
}
