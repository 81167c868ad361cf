// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// UpdateChecks changes the checks of the organization that the filter selects, each as
// UpdateCheck does, all in one transaction: after an error, none is changed. The edits
// have every selected check, in the order of their ids. A dry run finds the same errors
// and stores nothing.
//
// More than vigil.MaxBulk checks are a CodeInvalid error, and so is a filter that selects
// all checks. An id that is not of a check of the organization is a CodeNotFound error. An
// error about one check has its id in the details, as check_id.
func (s *Store) UpdateChecks(
	ctx context.Context, orgID uuid.UUID, f listing.CheckFilter, plan account.Plan, dryRun bool, change func(*vigil.Check) error,
) (updated []vigil.CheckEdit, err error) {
	err = s.bulk(ctx, orgID, f, plan, dryRun, func(ctx context.Context, e *Edits, checks []vigil.Check, members []string) error {
		var changes project.Changes
		updated = make([]vigil.CheckEdit, len(checks))
		for i, before := range checks {
			after, err := applyEdit(before, change)
			if err != nil {
				return aboutCheck(err, before.ID)
			}
			edit := &updated[i]
			*edit = vigil.CheckEdit{Before: before, After: after, Changed: !sameDefinition(&before, &after)}
			if edit.Changed {
				changes.Checks = append(changes.Checks, project.Edit[vigil.Check]{Before: &edit.Before, After: &edit.After, Members: members})
			}
		}
		if err := e.Change(ctx, &changes); err != nil {
			return aboutCheck(err, e.at)
		}
		return s.readHealth(ctx, e.tx, changes.Checks)
	})
	if err != nil {
		return nil, pg.Wrap("update checks", err)
	}
	return updated, nil
}

// DeleteChecks deletes the checks that the filter selects, each as DeleteCheck does. It is
// like UpdateChecks otherwise.
func (s *Store) DeleteChecks(
	ctx context.Context, orgID uuid.UUID, f listing.CheckFilter, dryRun bool,
) (deleted []vigil.CheckEdit, err error) {
	err = s.bulk(ctx, orgID, f, account.Plan{}, dryRun, func(ctx context.Context, e *Edits, checks []vigil.Check, members []string) error {
		changes := Deletion(checks...)
		for i := range changes.Checks {
			changes.Checks[i].Members = members
		}
		if err := e.Change(ctx, changes); err != nil {
			return err
		}
		deleted = e.woken
		return nil
	})
	if err != nil {
		return nil, pg.Wrap("delete checks", err)
	}
	return deleted, nil
}

// bulk runs edit in a transaction with the selected checks, whose rows it locks, and the
// members of the request, which the audit entry of each check has.
func (s *Store) bulk(
	ctx context.Context, orgID uuid.UUID, f listing.CheckFilter, plan account.Plan, dryRun bool,
	edit func(ctx context.Context, e *Edits, checks []vigil.Check, members []string) error,
) error {
	if f.Empty() {
		return vigil.Invalid("selector", "must not be empty: it would select every check")
	}
	return s.editMany(ctx, func(ctx context.Context, tx bun.Tx, entry *audit.Entry) error {
		if _, err := accounts.LockOrganization(ctx, tx, orgID); err != nil {
			return err
		}
		checks, err := s.lockSelected(ctx, tx, orgID, f)
		if err != nil {
			return err
		}
		e := s.Edits(tx, orgID, plan, account.Allowance{})
		var members []string
		if e.entry = entry; entry != nil {
			members = entry.Members
		}
		if err := edit(ctx, e, checks, members); err != nil {
			return err
		}
		if dryRun {
			return errDryRun
		}
		return nil
	})
}

// lockSelected locks the selected checks in the order of their ids, which prevents
// deadlocks, and reads them.
func (s *Store) lockSelected(ctx context.Context, tx bun.Tx, orgID uuid.UUID, f listing.CheckFilter) ([]vigil.Check, error) {
	selected, err := s.checkSelection(ctx, tx, orgID, f, nil)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	err = tx.NewRaw("SELECT id FROM checks WHERE id IN (?) ORDER BY id LIMIT ? FOR NO KEY UPDATE",
		selected().ColumnExpr("c.id"), vigil.MaxBulk+1).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("lock the checks: %w", err)
	}
	if len(ids) > vigil.MaxBulk {
		return nil, vigil.Invalid("selector", "selects more than %d checks: change them in several steps", vigil.MaxBulk)
	}
	if unknown := len(f.IDs) - len(ids); f.IDs != nil && unknown > 0 {
		err := vigil.NotFound("check")
		missing := slices.IndexFunc(f.IDs, func(id uuid.UUID) bool { return !slices.Contains(ids, id) })
		err.Details = map[string]any{"check_id": f.IDs[missing].String()}
		return nil, err
	}
	// After the locks: a change that this transaction waited for is seen.
	return s.readChecks(ctx, tx, ids...)
}

// aboutCheck adds the id of a check, if it is one, to the details of a caller's mistake.
func aboutCheck(err error, id uuid.UUID) error {
	mistake, ok := errors.AsType[*vigil.Error](err)
	if !ok || id == uuid.Nil {
		return err
	}
	about := *mistake
	about.Details = maps.Clone(mistake.Details)
	if about.Details == nil {
		about.Details = make(map[string]any)
	}
	about.Details["check_id"] = id.String()
	return &about
}
