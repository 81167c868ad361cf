// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/definitions"
)

// writeRules stores the edits of rules. Their checks are locked, and learn of it in raiseChecks.
func (e *Edits) writeRules(ctx context.Context, changes *project.Changes) error {
	if err := e.ownChannels(ctx, changes.Rules); err != nil {
		return err
	}
	var created []definitions.RuleRow
	var gone []uuid.UUID
	for i := range changes.Rules {
		edit := &changes.Rules[i]
		rule := edit.After
		if rule == nil {
			note(e, "rule", edit.Before.ID, edit)
			gone = append(gone, edit.Before.ID)
			continue
		}
		rule.Unobserved = cmp.Or(rule.Unobserved, vigil.UnobservedIgnore)
		if edit.Before == nil { // rules of the same severity are in the order of their age
			e.stamp(0, stamps{&rule.ID, &rule.CreatedAt, &rule.UpdatedAt, &rule.Version, &rule.AppliedVersion})
		} else if rule.UpdatedAt = e.now; !definitions.SameRule(edit.Before, rule) {
			e.stamp(edit.Before.Version, stamps{&rule.ID, &rule.CreatedAt, &rule.UpdatedAt, &rule.Version, &rule.AppliedVersion})
		}
		note(e, "rule", rule.ID, edit)
		row, err := definitions.RowOfRule(rule)
		if err != nil {
			return err
		}
		if edit.Before == nil {
			created = append(created, *row)
			continue
		}
		if _, err := e.tx.NewUpdate().Model(row).WherePK().ExcludeColumn("id", "org_id", "check_id", "created_at").Exec(ctx); err != nil {
			return definitions.ManagedTaken(definitions.Unstorable(fmt.Errorf("store a rule: %w", err)), "alert rule", rule.ManagedBy)
		}
	}
	if err := insertAll(ctx, e.tx, created, "alert rule"); err != nil || len(gone) == 0 {
		return err
	}
	if _, err := e.tx.NewRaw("DELETE FROM alert_rules WHERE id = ANY(?)", pgdialect.Array(gone)).Exec(ctx); err != nil {
		return fmt.Errorf("delete rules: %w", err)
	}
	return nil
}

// ownChannels returns a CodeInvalid error when a channel of a rule is not the organization's.
// It locks the channels, so that they cannot be deleted before the transaction ends.
func (e *Edits) ownChannels(ctx context.Context, edits []project.Edit[vigil.Rule]) error {
	var named []uuid.UUID
	for _, edit := range edits {
		if edit.After != nil {
			named = append(named, edit.After.Channels...)
		}
	}
	var own []uuid.UUID
	if len(named) > 0 {
		err := e.tx.NewRaw("SELECT id FROM channels WHERE org_id = ? AND id = ANY(?) ORDER BY id FOR SHARE", e.orgID, pgdialect.Array(named)).
			Scan(ctx, &own)
		if err != nil {
			return fmt.Errorf("read the channels: %w", err)
		}
	}
	known := make(map[uuid.UUID]bool, len(own))
	for _, id := range own {
		known[id] = true
	}
	for at, edit := range edits {
		if edit.After == nil {
			continue
		}
		if len(edit.After.Channels) == 0 && !e.unjudged { // the rule of a drill of subscriptions names none
			return e.inRule(at, vigil.Invalid("notification_channel_ids", "must name at least one channel"))
		}
		for i, id := range edit.After.Channels {
			if !known[id] {
				return e.inRule(at, vigil.Invalid("notification_channel_ids", "number %d is not a channel of this organization", i+1))
			}
		}
	}
	return nil
}

// inRule returns an error about a rule with the path that the request has the rule at.
func (e *Edits) inRule(at int, err error) error {
	if e.rulesAt == "" {
		return err
	}
	return vigil.Beneath(e.rulesAt+"["+strconv.Itoa(at)+"]", err)
}

// rulesChanged returns the checks, by id, whose rules alone change: whose revision does not grow
// with their own edit.
func rulesChanged(changes *project.Changes) []uuid.UUID {
	edited := make(map[uuid.UUID]bool, len(changes.Checks))
	for _, edit := range changes.Checks {
		switch {
		case edit.Before == nil:
			edited[edit.After.ID] = true
		case edit.After == nil || !sameDefinition(edit.Before, edit.After):
			edited[edit.Before.ID] = true
		}
	}
	var checks []uuid.UUID
	for i := range changes.Rules {
		if check := ruleOf(&changes.Rules[i]).CheckID; !edited[check] {
			checks = append(checks, check)
		}
	}
	slices.SortFunc(checks, vigil.CompareIDs)
	return slices.Compact(checks)
}

// raiseChecks raises the revision of the checks whose rules alone changed, so that their loops
// read the definition again.
func (e *Edits) raiseChecks(ctx context.Context, _ *project.Changes) error {
	for _, id := range e.raised {
		check := vigil.Check{ID: id, OrgID: e.orgID}
		e.woken = append(e.woken, vigil.CheckEdit{Before: check, After: check, Changed: true})
	}
	return raiseLocked(ctx, e.tx, e.raised)
}

// writeChannels stores new and changed channels.
func (e *Edits) writeChannels(ctx context.Context, changes *project.Changes) error {
	var created []definitions.ChannelRow
	for i := range changes.Channels {
		edit := &changes.Channels[i]
		channel := edit.After
		if channel == nil {
			continue
		}
		before := int64(0)
		if edit.Before != nil {
			before = edit.Before.Version
		}
		e.stamp(before, stamps{&channel.ID, &channel.CreatedAt, &channel.UpdatedAt, &channel.Version, &channel.AppliedVersion})
		if edit.Before != nil {
			endOverlap(edit.Before, channel)
		}
		row, err := e.db.definitions.SealedChannel(channel)
		if err != nil {
			return err
		}
		note(e, "channel", channel.ID, edit)
		if edit.Before == nil {
			created = append(created, *row)
			continue
		}
		if _, err := e.tx.NewUpdate().Model(row).WherePK().ExcludeColumn("id", "org_id", "type", "created_at").Exec(ctx); err != nil {
			return definitions.ManagedTaken(
				definitions.Unstorable(fmt.Errorf("store a channel: %w", err)),
				"notification channel",
				channel.ManagedBy,
			)
		}
	}
	return insertAll(ctx, e.tx, created, "notification channel")
}

// deleteChannels deletes channels that nothing uses any more.
func (e *Edits) deleteChannels(ctx context.Context, changes *project.Changes) error {
	var gone []uuid.UUID
	for i := range changes.Channels {
		if edit := &changes.Channels[i]; edit.After == nil {
			note(e, "channel", edit.Before.ID, edit)
			gone = append(gone, edit.Before.ID)
		}
	}
	return deleteChannels(ctx, e.tx, e.orgID, gone)
}
