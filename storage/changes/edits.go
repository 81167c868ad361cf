// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// errDryRun ends the transaction of a dry run: nothing of it is stored.
var errDryRun = errors.New("dry run")

// Edits changes definitions of an organization in a transaction: checks, rules, channels,
// status pages, maintenance windows and subscriptions. Every change of a definition is a call of it, with one
// edit or many, so that all of them keep the same rules: a single edit of the API, a bulk
// change, an apply, and the deletion of what expired.
//
// The caller locks and reads what it changes: first the organization, where the edits may add
// to what its plan limits, and then the definitions, each kind in the order of the ids. The
// loops are locked last, all at once and in the order of the result writer, because a writer
// that waits for one of them delays the results of other checks.
type Edits struct {
	db    *Store
	tx    bun.Tx
	orgID uuid.UUID
	plan  account.Plan
	allow account.Allowance
	now   time.Time // of the judgement, and of what is written

	// unjudged edits are those of a drill, which no plan counts.
	unjudged bool
	// apply notes the version that is stored as the one that was applied.
	apply bool
	// entry is the model of the audit entry of each edit. It is nil where the transaction
	// stores the entry of the request, which describes its only edit (see Store.InTx).
	entry   *audit.Entry
	audited []pg.AuditRow
	// rulesAt is the member of the request that lists the rules; empty where there is one.
	rulesAt string

	// loops are those of the checks that are changed or deleted, locked.
	loops map[uuid.UUID][]loops.Row
	// raised are the checks whose rules alone change, by id.
	raised []uuid.UUID
	// refreshed are the checks whose definition or rules change.
	refreshed []uuid.UUID
	// at is the check that was being changed when an error came.
	at uuid.UUID
	// deleted are the checks that are deleted, by id, and ends those of their incidents.
	deleted []*vigil.CheckEdit
	ends    []incidents.End
	// toggled are the events of the checks that are enabled or disabled.
	toggled []events.SystemContent
	// woken are the checks whose loops and incidents must be looked at: those created and
	// changed, those whose rules alone changed, and those deleted. Callers wake them when
	// the transaction is committed.
	woken []vigil.CheckEdit
}

// Edits begins edits in a transaction. The plan and the allowance are those that the edits are judged by; the
// tier alone limits what is not a check.
func (s *Store) Edits(tx bun.Tx, orgID uuid.UUID, plan account.Plan, allow account.Allowance) *Edits {
	return &Edits{db: s, tx: tx, orgID: orgID, plan: plan, allow: allow}
}

// edit makes edits that the tier alone limits, in the transaction of a request.
func (s *Store) edit(ctx context.Context, tx bun.Tx, orgID uuid.UUID, tier account.Tier, changes *project.Changes) error {
	return s.Edits(tx, orgID, account.Plan{Tier: tier}, account.Allowance{}).Change(ctx, changes)
}

// editMany runs do in a transaction whose edits have an audit entry each. The request itself
// has none.
func (s *Store) editMany(ctx context.Context, do func(ctx context.Context, tx bun.Tx, entry *audit.Entry) error) error {
	entry := audit.FromContext(ctx)
	err := s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error { return do(ctx, tx, entry) })
	if err == nil || errors.Is(err, errDryRun) {
		entry.Claim()
		return nil
	}
	return err
}

// Change judges the edits by the plan and stores them: what others refer to first, deletions
// last. Windows follow the checks, whose labels and regions say what they cover. Nothing but the
// answer and the audit entry may follow in the transaction, see PublishEnds.
func (e *Edits) Change(ctx context.Context, changes *project.Changes) error {
	for _, step := range []func(context.Context, *project.Changes) error{
		e.judge, e.lockLocations, e.freeKeys, e.writeChannels, e.checkFallbacks, e.createChecks, e.writePages, e.leaveChecks, e.writeRules,
		e.lockLoops, e.sweepIncidents, e.updateChecks, e.raiseChecks, e.writeWindows, e.writeSubscriptions, e.deleteChecks,
		e.deleteChannels, e.settle, e.publish,
	} {
		if err := step(ctx, changes); err != nil {
			return err
		}
	}
	return e.audit(ctx)
}

// stamps are the members of a definition that each edit sets.
type stamps struct {
	id                 *uuid.UUID
	createdAt, changed *time.Time
	version, applied   *int64
}

// stamp fills in the id and the times of a new definition where it has none, the time of a
// change, and the next version; before is the present one, 0 of a new definition.
func (e *Edits) stamp(before int64, of stamps) {
	if before == 0 {
		*of.id, *of.createdAt, *of.changed = pg.IDOrNew(*of.id), pg.TimeOrDefault(*of.createdAt, e.now), pg.TimeOrDefault(*of.changed, e.now)
	} else {
		*of.changed = e.now
	}
	if *of.version = before + 1; e.apply {
		*of.applied = *of.version
	}
}

// note adds the audit entry of an edit.
func note[T any](e *Edits, resource string, id uuid.UUID, edit *project.Edit[T]) {
	if e.entry == nil {
		return
	}
	verb := ".update"
	switch {
	case edit.Before == nil:
		verb = ".create"
	case edit.After == nil:
		verb = ".delete"
	}
	one := *e.entry
	one.ID, one.At, one.Action, one.ResourceID, one.Members = uuid.New(), e.now, resource+verb, id, edit.Members
	e.audited = append(e.audited, pg.RowOfEntry(&one))
}

func (e *Edits) audit(ctx context.Context) error {
	if len(e.audited) == 0 {
		return nil
	}
	if _, err := e.tx.NewInsert().Model(&e.audited).Exec(ctx); err != nil {
		return fmt.Errorf("write to the audit log: %w", err)
	}
	return nil
}

// managedTables are the tables of the kinds of definitions.
func managedTables() map[project.Kind]string {
	return map[project.Kind]string{
		project.KindChannel: "channels", project.KindCheck: "checks", project.KindRule: "alert_rules", project.KindStatusPage: "status_pages",
		project.KindMaintenance: "maintenance_windows", project.KindSubscription: "subscriptions",
	}
}

// freeKeys lets go of the keys that are about to change, so that another definition can
// have them.
func (e *Edits) freeKeys(ctx context.Context, changes *project.Changes) error {
	moved := map[project.Kind][]uuid.UUID{
		project.KindChannel: movedKeys(changes.Channels, func(c *vigil.Channel) (uuid.UUID, *vigil.ManagedBy) { return c.ID, c.ManagedBy }),
		project.KindCheck:   movedKeys(changes.Checks, func(c *vigil.Check) (uuid.UUID, *vigil.ManagedBy) { return c.ID, c.ManagedBy }),
		project.KindRule:    movedKeys(changes.Rules, func(r *vigil.Rule) (uuid.UUID, *vigil.ManagedBy) { return r.ID, r.ManagedBy }),
		project.KindStatusPage: movedKeys(changes.Pages, func(p *overview.StatusPage) (uuid.UUID, *vigil.ManagedBy) {
			return p.ID, p.ManagedBy
		}),
		project.KindMaintenance: movedKeys(changes.Windows, func(w *maintenance.Window) (uuid.UUID, *vigil.ManagedBy) {
			return w.ID, w.ManagedBy
		}),
		project.KindSubscription: movedKeys(changes.Subscriptions, func(s *subscription.Subscription) (uuid.UUID, *vigil.ManagedBy) {
			return s.ID, s.ManagedBy
		}),
	}
	for kind, ids := range moved {
		if len(ids) == 0 {
			continue
		}
		_, err := e.tx.NewRaw("UPDATE ? SET managed_tool = NULL, managed_project = NULL, managed_key = NULL WHERE id = ANY(?)",
			bun.Ident(managedTables()[kind]), pgdialect.Array(ids)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("free keys: %w", err)
		}
	}
	return nil
}

func movedKeys[T any](edits []project.Edit[T], of func(*T) (uuid.UUID, *vigil.ManagedBy)) (ids []uuid.UUID) {
	for _, edit := range edits {
		if edit.Before == nil || edit.After == nil {
			continue
		}
		id, before := of(edit.Before)
		if _, after := of(edit.After); before != nil && !vigil.SameManager(before, after) {
			ids = append(ids, id)
		}
	}
	return ids
}

// settle notes that the present versions of the document's definitions are those that were
// applied.
func (e *Edits) settle(ctx context.Context, changes *project.Changes) error {
	for kind, ids := range changes.Current {
		if len(ids) == 0 {
			continue
		}
		_, err := e.tx.NewRaw("UPDATE ? SET applied_version = version WHERE id = ANY(?) AND applied_version <> version",
			bun.Ident(managedTables()[kind]), pgdialect.Array(ids)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("settle versions: %w", err)
		}
	}
	return nil
}

// insertAll inserts the rows of new definitions with one statement.
func insertAll[R any, P interface {
	*R
	ManagedBy() *vigil.ManagedBy
}](ctx context.Context, tx bun.Tx, rows []R, noun string) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.NewInsert().Model(&rows).Exec(ctx)
	if err == nil {
		return nil
	}
	err = definitions.Unstorable(fmt.Errorf("insert: %w", err))
	for i := range rows {
		if by := P(&rows[i]).ManagedBy(); by != nil && (len(rows) == 1 || definitions.NamesKey(err, by.Key)) {
			return definitions.ManagedTaken(err, noun, by)
		}
	}
	return err
}
