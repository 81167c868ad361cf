// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	// applyWait is how long an apply waits for another one of the same project.
	applyWait = 30 * time.Second
	// applyStep bounds each statement of an apply, and the time between two.
	applyStep = 30 * time.Second
)

// Apply changes the definitions of a project in one transaction: after an error, none is
// changed. It reads what is stored, whose rows it locks, and decide returns the edits.
// Decide may return an error, which Apply returns unchanged.
//
// Another apply of the same project is waited for, 30 s at most; then the error is a
// CodeConflict one. What exceeds the plan is a CodePlanLimit error: numbers of definitions,
// budgets and creations are judged for all edits together. A dry run finds the same errors;
// it stores and locks nothing.
func (s *Store) Apply(
	ctx context.Context, r project.ApplyRequest, decide func(project.Inventory) (project.Changes, error),
) (project.Applied, error) {
	run := &applyRun{request: r}
	ctx = pg.WithQueryLimit(ctx, applyWait+applyStep)
	err := s.editMany(ctx, func(ctx context.Context, tx bun.Tx, entry *audit.Entry) error {
		run.Edits = s.Edits(tx, r.OrgID, r.Plan, r.Allow)
		run.entry, run.apply = entry, true
		return run.run(ctx, decide)
	})
	if err != nil {
		return project.Applied{}, pg.Wrap("apply a project", err)
	}
	return run.applied, nil
}

// applyRun is an apply in its transaction.
type applyRun struct {
	*Edits

	request project.ApplyRequest
	applied project.Applied
}

func (a *applyRun) run(ctx context.Context, decide func(project.Inventory) (project.Changes, error)) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	inventory, err := a.inventory(ctx)
	if err != nil {
		return err
	}
	changes, err := decide(inventory)
	if err != nil {
		return err
	}
	if a.applied.ExecutionsBefore, err = a.usedExecutions(ctx); err != nil {
		return err
	}
	added, _ := addedNeeds(changes.Checks)
	a.applied.ExecutionsAfter = max(0, a.applied.ExecutionsBefore+added)
	if a.request.DryRun {
		if err := a.judge(ctx, &changes); err != nil {
			return err
		}
		return errDryRun
	}
	if err := a.Change(ctx, &changes); err != nil {
		return err
	}
	a.applied.Checks = a.woken
	return accounts.KeepAnswer(ctx, a.tx, a.applied)
}

// begin takes the locks of the project and of the organization.
func (a *applyRun) begin(ctx context.Context) error {
	limits := pg.SessionLimits{Statement: applyWait + applyStep, Lock: applyWait, IdleInTransaction: applyStep}
	if _, err := a.tx.ExecContext(ctx, limits.SelectLocal()); err != nil {
		return fmt.Errorf("set the limits of an apply: %w", err)
	}
	if a.request.DryRun {
		return nil
	}
	err := pg.LockName(ctx, a.tx, "apply/"+a.request.OrgID.String()+"/"+a.request.Project)
	const lockNotAvailable = "55P03" // of the Postgres manual, appendix A
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == lockNotAvailable {
		busy := vigil.Errorf(vigil.CodeConflict,
			"Another apply of the project %q has been running for %d seconds. Try again when it has ended.",
			a.request.Project, int(applyWait.Seconds()))
		busy.Details = map[string]any{vigil.RetryDetail: int(applyWait.Seconds())}
		return busy
	}
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	_, err = accounts.LockOrganization(ctx, a.tx, a.request.OrgID)
	return err
}
