// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CreateRule stores a new alert rule and raises the revision of its check, so that the
// check's loops load the rule. It fills in zero ids and times. A check that is not the
// organization's is a CodeNotFound error, and a channel that is not the organization's a
// CodeInvalid error. More rules of a check than the plan allows are a CodePlanLimit error.
func (s *Store) CreateRule(ctx context.Context, r vigil.Rule) (vigil.Rule, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCheck(ctx, tx, r.OrgID, r.CheckID); err != nil {
			return err
		}
		var tier string
		if err := tx.NewRaw("SELECT tier FROM organizations WHERE id = ?", r.OrgID).Scan(ctx, &tier); err != nil {
			return pg.Found("organization", err)
		}
		if err := s.editRule(ctx, tx, r.OrgID, account.Tier(tier), project.Edit[vigil.Rule]{After: &r}); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, r)
	})
	if err != nil {
		return vigil.Rule{}, pg.Wrap("create rule", err)
	}
	return r, nil
}

// editRule stores an edit of a rule, whose check is locked, and reads the warnings about it.
func (s *Store) editRule(ctx context.Context, tx bun.Tx, orgID uuid.UUID, tier account.Tier, edit project.Edit[vigil.Rule]) (err error) {
	changes := &project.Changes{Rules: []project.Edit[vigil.Rule]{edit}}
	if err := s.edit(ctx, tx, orgID, tier, changes); err != nil || edit.After == nil {
		return err
	}
	edit.After.Warnings, err = s.ruleWarnings(ctx, tx, edit.After)
	return err
}

// Rule finds an alert rule of a check of the organization. An unknown rule is a
// CodeNotFound error.
func (s *Store) Rule(ctx context.Context, orgID, checkID, id uuid.UUID) (vigil.Rule, error) {
	rule, err := s.RuleByID(ctx, orgID, id)
	if err == nil && rule.CheckID != checkID {
		return vigil.Rule{}, vigil.NotFound("rule")
	}
	return rule, err
}

// UpdateRule changes an alert rule: change edits a copy of the stored rule, and may
// return an error, which UpdateRule returns unchanged. The rule's id, check and
// organization cannot be changed. The revision of the check is raised. Errors are those
// of CreateRule; an unknown rule is a CodeNotFound error.
func (s *Store) UpdateRule(ctx context.Context, orgID, checkID, id uuid.UUID, change func(*vigil.Rule) error) (vigil.Rule, error) {
	var after vigil.Rule
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCheck(ctx, tx, orgID, checkID); err != nil {
			return err
		}
		before, err := definitions.ReadRule(ctx, tx, orgID, checkID, id)
		if err != nil {
			return err
		}
		draft := before
		draft.Channels = slices.Clone(before.Channels)
		if err := change(&draft); err != nil {
			return err
		}
		after = before
		after.Name, after.Condition, after.Channels = draft.Name, draft.Condition, draft.Channels
		after.NotifyOn, after.Policy, after.Enabled, after.Labels = draft.NotifyOn, draft.Policy, draft.Enabled, draft.Labels
		after.NotifyIfOpen, after.Unobserved = draft.NotifyIfOpen, draft.Unobserved
		after.ManagedBy, after.AppliedVersion = draft.ManagedBy, definitions.ManagedChange(
			before.ManagedBy,
			draft.ManagedBy,
			before.AppliedVersion,
		)
		return s.editRule(ctx, tx, orgID, "", project.Edit[vigil.Rule]{Before: &before, After: &after})
	})
	if err != nil {
		return vigil.Rule{}, pg.Wrap("update rule", err)
	}
	return after, nil
}

// DeleteRule deletes an alert rule and raises the revision of its check. An unknown check
// or rule is a CodeNotFound error, and a version that match does not accept a
// CodePrecondition error.
func (s *Store) DeleteRule(ctx context.Context, orgID, checkID, id uuid.UUID, match vigil.Precondition) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCheck(ctx, tx, orgID, checkID); err != nil {
			return err
		}
		err := pg.MatchStored(ctx, tx, "rule", "SELECT version FROM alert_rules WHERE id = ? AND check_id = ?", id, match, checkID)
		if err != nil {
			return err
		}
		return s.editRule(ctx, tx, orgID, "", project.Edit[vigil.Rule]{Before: &vigil.Rule{ID: id, CheckID: checkID}})
	})
	return pg.Wrap("delete rule", err)
}

// raiseRevision raises the revision of checks, whose rows are locked, so that their loops
// read the definition again.
func raiseRevision(ctx context.Context, tx bun.Tx, checks ...uuid.UUID) error {
	// In the lock order of the result writer, which prevents deadlocks.
	_, err := tx.NewRaw("SELECT FROM check_regions WHERE check_id = ANY(?) ORDER BY check_id, region FOR UPDATE", pgdialect.Array(checks)).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("lock the loops: %w", err)
	}
	return raiseLocked(ctx, tx, checks)
}

// raiseLocked is raiseRevision for checks whose loops are locked.
func raiseLocked(ctx context.Context, tx bun.Tx, checks []uuid.UUID) error {
	if len(checks) == 0 {
		return nil
	}
	_, err := tx.NewRaw(`WITH c AS (
			UPDATE checks SET revision = revision + 1, changed_at = clock_timestamp(), changed_xid = pg_current_xact_id()
			WHERE id = ANY(?) RETURNING id, revision
		) UPDATE check_regions AS r SET desired = c.revision FROM c WHERE r.check_id = c.id`, pgdialect.Array(checks)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("raise the revision: %w", err)
	}
	return nil
}

// rulesUsing returns the names of the rules that notify a channel.
func rulesUsing(ctx context.Context, tx bun.Tx, orgID, channelID uuid.UUID) ([]string, error) {
	var names []string
	err := tx.NewRaw("SELECT name FROM alert_rules WHERE org_id = ? AND ? = ANY(channel_ids) AND "+pg.NotDrill+" ORDER BY name, id",
		orgID, channelID).Scan(ctx, &names)
	if err != nil {
		return nil, fmt.Errorf("find the rules of a channel: %w", err)
	}
	return names, nil
}

// dropBatch is how many checks a transaction of dropFromRules locks, with their loops.
const dropBatch = 20

// dropFromRules removes a channel from all rules, deletes the rules that have no channel
// left, and returns the checks whose revision it raised. The rules of drills are left as they are:
// their incidents open, so that the receipt names the channel that is not notified any more.
func (s *Store) dropFromRules(ctx context.Context, orgID, channelID uuid.UUID) ([]uuid.UUID, error) {
	var all []uuid.UUID
	for {
		var checks []uuid.UUID
		// Without the audit entry of ctx: it belongs to the deletion of the channel.
		err := s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) (err error) {
			checks, err = dropFromSomeRules(ctx, tx, orgID, channelID)
			return err
		})
		if err != nil || len(checks) == 0 {
			return all, err
		}
		all = append(all, checks...)
	}
}

// dropFromSomeRules is dropFromRules for the rules of up to dropBatch checks.
func dropFromSomeRules(ctx context.Context, tx bun.Tx, orgID, channelID uuid.UUID) ([]uuid.UUID, error) {
	var checks []uuid.UUID
	err := tx.NewRaw(`SELECT id FROM checks WHERE id IN (
			SELECT check_id FROM alert_rules WHERE org_id = ? AND ? = ANY(channel_ids) AND `+pg.NotDrill+`
		) ORDER BY id LIMIT ? FOR NO KEY UPDATE`, orgID, channelID, dropBatch).Scan(ctx, &checks)
	if err != nil || len(checks) == 0 {
		return nil, pg.Wrap("find the rules of a channel", err)
	}
	for _, step := range []string{
		// Only rules of the locked checks: new rules may appear between the statements.
		"DELETE FROM alert_rules WHERE check_id = ANY(?0) AND channel_ids <@ ARRAY[?1]::uuid[]",
		"UPDATE alert_rules SET channel_ids = array_remove(channel_ids, ?1), version = version + 1, updated_at = clock_timestamp()" +
			" WHERE check_id = ANY(?0) AND ?1 = ANY(channel_ids)",
	} {
		if _, err := tx.NewRaw(step, pgdialect.Array(checks), channelID).Exec(ctx); err != nil {
			return nil, fmt.Errorf("remove a channel from rules: %w", err)
		}
	}
	if err := raiseRevision(ctx, tx, checks...); err != nil {
		return nil, err
	}
	return checks, incidents.SweepIncidentsSoon(ctx, tx, checks...)
}
