// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/audit"
	"github.com/vigil-monitor/vigil/project"
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
	entry := audit.FromContext(ctx)
	run := &applyRun{store: s, request: r, entry: entry}
	ctx = withQueryLimit(ctx, applyWait+applyStep)
	err := s.transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		run.tx = tx
		return run.run(ctx, decide)
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return project.Applied{}, wrap("apply a project", err)
	}
	entry.Claim() // the request itself has no entry: its definitions have
	return run.applied, nil
}

// applyRun is an apply in its transaction.
type applyRun struct {
	store   *Store
	tx      bun.Tx
	request project.ApplyRequest
	entry   *audit.Entry
	now     time.Time
	audited []auditRow
	applied project.Applied
	// deleted are the checks that are deleted, by id, and ends those of their incidents.
	deleted []*vigil.CheckEdit
	ends    []incidentEnd
}

func (a *applyRun) run(ctx context.Context, decide func(project.Inventory) (project.Changes, error)) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	a.now = a.store.instant()
	inventory, err := a.inventory(ctx)
	if err != nil {
		return err
	}
	changes, err := decide(inventory)
	if err != nil {
		return err
	}
	if err := a.judge(ctx, &changes); err != nil {
		return err
	}
	if a.request.DryRun {
		return errDryRun
	}
	if err := a.store.applyChanges(ctx, a, &changes); err != nil {
		return err
	}
	return keepAnswer(ctx, a.tx, a.applied)
}

// begin takes the locks of the project and of the organization.
func (a *applyRun) begin(ctx context.Context) error {
	limits := sessionLimits{statement: applyWait + applyStep, lock: applyWait, idleInTransaction: applyStep}
	if _, err := a.tx.ExecContext(ctx, limits.selectLocal()); err != nil {
		return fmt.Errorf("set the limits of an apply: %w", err)
	}
	if a.request.DryRun {
		return nil
	}
	err := lockName(ctx, a.tx, "apply/"+a.request.OrgID.String()+"/"+a.request.Project)
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
	_, err = lockOrganization(ctx, a.tx, a.request.OrgID)
	return err
}

// note adds an entry of the audit log, as a single edit has it.
func (a *applyRun) note(action string, id uuid.UUID, members []string) {
	if a.entry == nil {
		return
	}
	one := *a.entry
	one.ID, one.At, one.Action, one.ResourceID, one.Members = uuid.New(), a.now, action, id, members
	a.audited = append(a.audited, rowOfEntry(&one))
}

// noteEdit adds the entry of an edit, with its verb.
func noteEdit[T any](a *applyRun, resource string, id uuid.UUID, edit *project.Edit[T]) {
	verb := ".update"
	switch {
	case edit.Before == nil:
		verb = ".create"
	case edit.After == nil:
		verb = ".delete"
	}
	a.note(resource+verb, id, edit.Members)
}

func (a *applyRun) storeAudit(ctx context.Context) error {
	if len(a.audited) == 0 {
		return nil
	}
	if _, err := a.tx.NewInsert().Model(&a.audited).Exec(ctx); err != nil {
		return fmt.Errorf("write to the audit log: %w", err)
	}
	return nil
}
