// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/account"
	"github.com/vigil-monitor/vigil/audit"
)

// errDryRun ends the transaction of a dry run: nothing of it is stored.
var errDryRun = errors.New("dry run")

// UpdateChecks changes the checks of the organization that the filter selects, each as
// UpdateCheck does, all in one transaction: after an error, none is changed. The edits
// have every selected check, in the order of their ids. A dry run finds the same errors
// and stores nothing.
//
// More than vigil.MaxBulk checks are a CodeInvalid error, and so is a filter that selects
// all checks. An id that is not of a check of the organization is a CodeNotFound error. An
// error about one check has its id in the details, as check_id.
func (s *Store) UpdateChecks(
	ctx context.Context, orgID uuid.UUID, f vigil.CheckFilter, plan account.Plan, dryRun bool, change func(*vigil.Check) error,
) (edits []vigil.CheckEdit, err error) {
	err = s.bulk(ctx, orgID, f, dryRun, "check.update", func(ctx context.Context, tx bun.Tx, checks []vigil.Check) ([]vigil.CheckEdit, error) {
		edits, err = s.updateLocked(ctx, tx, checks, plan, change)
		return edits, err
	})
	if err != nil {
		return nil, wrap("update checks", err)
	}
	return edits, nil
}

// DeleteChecks deletes the checks that the filter selects, each as DeleteCheck does. It is
// like UpdateChecks otherwise.
func (s *Store) DeleteChecks(ctx context.Context, orgID uuid.UUID, f vigil.CheckFilter, dryRun bool) (edits []vigil.CheckEdit, err error) {
	err = s.bulk(ctx, orgID, f, dryRun, "check.delete", func(ctx context.Context, tx bun.Tx, checks []vigil.Check) ([]vigil.CheckEdit, error) {
		ids := make([]uuid.UUID, len(checks))
		for i := range checks {
			ids[i] = checks[i].ID
		}
		if err := s.leavePages(ctx, tx, ids...); err != nil {
			return nil, err
		}
		if err := s.leaveMaintenance(ctx, tx, ids...); err != nil {
			return nil, err
		}
		edits = make([]vigil.CheckEdit, len(checks))
		deleted := make([]*vigil.CheckEdit, len(checks))
		for i, check := range checks {
			edits[i] = vigil.CheckEdit{Before: check, Changed: true}
			deleted[i] = &edits[i]
		}
		return edits, s.deleteLocked(ctx, tx, deleted)
	})
	if err != nil {
		return nil, wrap("delete checks", err)
	}
	return edits, nil
}

// bulk runs edit in a transaction with the selected checks, whose rows it locks, and
// stores an audit entry for each check that edit changed.
func (s *Store) bulk(
	ctx context.Context, orgID uuid.UUID, f vigil.CheckFilter, dryRun bool, action string,
	edit func(ctx context.Context, tx bun.Tx, checks []vigil.Check) ([]vigil.CheckEdit, error),
) error {
	if f.Empty() {
		return vigil.Invalid("selector", "must not be empty: it would select every check")
	}
	entry := audit.FromContext(ctx)
	err := s.transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := lockOrganization(ctx, tx, orgID); err != nil {
			return err
		}
		checks, err := s.lockSelected(ctx, tx, orgID, f)
		if err != nil {
			return err
		}
		edits, err := edit(ctx, tx, checks)
		if err != nil {
			return err
		}
		if dryRun {
			return errDryRun
		}
		return s.auditEdits(ctx, tx, entry, action, edits)
	})
	if err == nil || errors.Is(err, errDryRun) {
		entry.Claim() // the request itself has no entry: its checks have
		return nil
	}
	return err
}

// lockSelected locks the selected checks in the order of their ids, which prevents
// deadlocks, and reads them.
func (s *Store) lockSelected(ctx context.Context, tx bun.Tx, orgID uuid.UUID, f vigil.CheckFilter) ([]vigil.Check, error) {
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
	var rows []checkRow
	if len(ids) > 0 {
		// After the locks: a change that this transaction waited for is seen.
		if err := s.selectChecks(tx, &rows).Where("c.id = ANY(?::uuid[])", pgdialect.Array(ids)).OrderExpr("c.id").Scan(ctx); err != nil {
			return nil, fmt.Errorf("read the checks: %w", err)
		}
	}
	checks := make([]vigil.Check, len(rows))
	for i := range rows {
		if checks[i], err = s.opened(&rows[i]); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

// updateLocked changes checks whose rows are locked.
func (s *Store) updateLocked(
	ctx context.Context, tx bun.Tx, checks []vigil.Check, plan account.Plan, change func(*vigil.Check) error,
) ([]vigil.CheckEdit, error) {
	edits := make([]vigil.CheckEdit, len(checks))
	addedRuns, addedBytes := 0.0, 0.0
	for i, before := range checks {
		after, err := applyEdit(before, change)
		if err != nil {
			return nil, aboutCheck(err, before.ID)
		}
		edits[i] = vigil.CheckEdit{Before: before, After: after, Changed: !sameDefinition(&before, &after)}
		addedRuns += after.HourlyCost() - before.HourlyCost()
		addedBytes += after.HourlyBytes() - before.HourlyBytes()
	}
	if len(checks) > 0 {
		if err := checkBudgets(ctx, tx, checks[0].OrgID, addedRuns, addedBytes, plan); err != nil {
			return nil, err
		}
	}
	for i := range edits {
		if !edits[i].Changed {
			continue
		}
		if err := s.storeDefinition(ctx, tx, &edits[i].Before, &edits[i].After); err != nil {
			return nil, aboutCheck(err, edits[i].Before.ID)
		}
	}
	return edits, nil
}

// checkBudgets judges several changes of an organization's checks by their sum, in executions and
// in bytes an hour. None of them is stored yet, so what is used has what the checks cost before.
func checkBudgets(ctx context.Context, tx bun.Tx, orgID uuid.UUID, addedRuns, addedBytes float64, plan account.Plan) error {
	if addedRuns > 0 {
		if err := bulkBudget(ctx, tx, orgID, addedRuns, plan); err != nil {
			return err
		}
	}
	if addedBytes > 0 {
		return bulkThroughput(ctx, tx, orgID, addedBytes, plan)
	}
	return nil
}

// bulkBudget returns a CodePlanLimit error when the changes of an organization's checks
// would raise the cost of its enabled checks above the hourly budget of its plan.
func bulkBudget(ctx context.Context, tx bun.Tx, orgID uuid.UUID, added float64, plan account.Plan) error {
	if plan.ExecutionsPerHour == account.Unlimited {
		return nil
	}
	var used float64
	if err := tx.NewRaw("SELECT "+hourlyCost+" FROM checks WHERE org_id = ? AND enabled", orgID).Scan(ctx, &used); err != nil {
		return fmt.Errorf("sum the budget: %w", err)
	}
	const tolerance = 1e-6 // the sum adds fractions
	if used+added <= float64(plan.ExecutionsPerHour)+tolerance {
		return nil
	}
	return planLimit(plan.Tier, plan.ExecutionsPerHour, used, added,
		"The checks need %g more executions an hour, and the organization's enabled checks already use %g of the %d that the %s plan allows. "+
			"Choose longer intervals or fewer regions, disable other checks, or change the plan.")
}

// aboutCheck adds the id of a check to the details of a caller's mistake.
func aboutCheck(err error, id uuid.UUID) error {
	mistake, ok := errors.AsType[*vigil.Error](err)
	if !ok {
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

// auditEdits stores an audit entry for each check that was changed.
func (s *Store) auditEdits(ctx context.Context, tx bun.Tx, entry *audit.Entry, action string, edits []vigil.CheckEdit) error {
	var rows []auditRow
	for i := range edits {
		if entry == nil || !edits[i].Changed {
			continue
		}
		one := *entry
		one.ID, one.At, one.Action, one.ResourceID = uuid.New(), s.instant(), action, edits[i].Before.ID
		rows = append(rows, rowOfEntry(&one))
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("write to the audit log: %w", err)
	}
	return nil
}
