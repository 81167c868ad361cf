// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/definitions"
)

// writeSubscriptions stores the edits of subscriptions. The channels and checks that they name are
// stored, and channels that are deleted are so afterwards.
func (e *Edits) writeSubscriptions(ctx context.Context, changes *project.Changes) error {
	if err := e.ownedBySubscriptions(ctx, changes.Subscriptions); err != nil {
		return err
	}
	left := make(map[uuid.UUID]bool, len(e.deleted)) // they have left what is stored
	for _, edit := range e.deleted {
		left[edit.Before.ID] = true
	}
	var created []subscriptionRow
	var gone []uuid.UUID
	for i := range changes.Subscriptions {
		edit := &changes.Subscriptions[i]
		one := edit.After
		if one == nil {
			note(e, "subscription", edit.Before.ID, edit)
			gone = append(gone, edit.Before.ID)
			continue
		}
		if len(left) > 0 && one.Selector.CheckIDs != nil {
			one.Selector.CheckIDs = slices.DeleteFunc(slices.Clone(one.Selector.CheckIDs), func(id uuid.UUID) bool { return left[id] })
		}
		before := int64(0)
		if edit.Before != nil {
			before = edit.Before.Version
		}
		e.stamp(before, stamps{&one.ID, &one.CreatedAt, &one.UpdatedAt, &one.Version, &one.AppliedVersion})
		note(e, "subscription", one.ID, edit)
		row := rowOfSubscription(one)
		if edit.Before == nil {
			created = append(created, *row)
			continue
		}
		if _, err := e.tx.NewUpdate().Model(row).WherePK().ExcludeColumn("id", "org_id", "created_at").Exec(ctx); err != nil {
			return definitions.ManagedTaken(definitions.Unstorable(fmt.Errorf("store a subscription: %w", err)), "subscription", one.ManagedBy)
		}
	}
	if len(gone) > 0 {
		if _, err := e.tx.NewRaw("DELETE FROM subscriptions WHERE id = ANY(?)", pgdialect.Array(gone)).Exec(ctx); err != nil {
			return fmt.Errorf("delete subscriptions: %w", err)
		}
	}
	return insertAll(ctx, e.tx, created, "subscription")
}

// ownedBySubscriptions returns a CodeInvalid error when a channel or a check of a subscription is not
// the organization's. It locks them, so that they cannot be deleted before the transaction ends.
func (e *Edits) ownedBySubscriptions(ctx context.Context, edits []project.Edit[subscription.Subscription]) error {
	var channels, checks []uuid.UUID
	for _, edit := range edits {
		if edit.After != nil {
			channels, checks = append(channels, edit.After.ChannelID), append(checks, edit.After.Selector.CheckIDs...)
		}
	}
	ownChecks, err := e.own(ctx, "checks", "KEY SHARE", checks)
	if err != nil {
		return err
	}
	ownChannels, err := e.own(ctx, "channels", "SHARE", channels)
	if err != nil {
		return err
	}
	for _, edit := range edits {
		if edit.After == nil {
			continue
		}
		if !ownChannels[edit.After.ChannelID] {
			return vigil.Invalid("channel_id", "is not a channel of this organization")
		}
		for i, id := range edit.After.Selector.CheckIDs {
			if !ownChecks[id] {
				return vigil.Invalid(fmt.Sprintf("selector.check_ids[%d]", i), "is not a check of this organization")
			}
		}
	}
	return nil
}

// own returns those of the ids that are the organization's rows of a table, and locks them.
func (e *Edits) own(ctx context.Context, table, mode string, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // none is asked for
	}
	var found []uuid.UUID
	err := e.tx.NewRaw("SELECT id FROM "+table+" WHERE org_id = ? AND id = ANY(?) ORDER BY id FOR "+mode, e.orgID, pgdialect.Array(ids)).
		Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", table, err)
	}
	known := make(map[uuid.UUID]bool, len(found))
	for _, id := range found {
		known[id] = true
	}
	return known, nil
}

// leaveSubscriptions takes checks that are about to be deleted out of the subscriptions that name
// them, and raises the versions of these. A list that becomes empty selects no check. It locks all
// of them in the order of their ids, which prevents deadlocks.
func (e *Edits) leaveSubscriptions(ctx context.Context, checks []uuid.UUID) error {
	_, err := e.tx.NewRaw(`WITH named AS (
			SELECT id FROM subscriptions WHERE check_ids && ?0 ORDER BY id FOR NO KEY UPDATE
		) UPDATE subscriptions AS s SET version = version + 1, updated_at = ?1,
			check_ids = ARRAY(SELECT c FROM unnest(s.check_ids) AS c WHERE c <> ALL(?0))
		FROM named WHERE s.id = named.id`, pgdialect.Array(checks), e.db.db.Instant()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("leave the subscriptions: %w", err)
	}
	return nil
}
