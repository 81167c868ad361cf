// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// subscriptionRow is a subscription as Postgres stores it. CheckIDs is nil where the checks are not
// named.
type subscriptionRow struct {
	bun.BaseModel `bun:"table:subscriptions,alias:s"`

	ID          uuid.UUID   `bun:"id,pk,type:uuid"`
	OrgID       uuid.UUID   `bun:"org_id,type:uuid"`
	Name        string      `bun:"name"`
	ChannelID   uuid.UUID   `bun:"channel_id,type:uuid"`
	Events      []string    `bun:"events,array"`
	Labels      []string    `bun:"labels,array"`
	CheckIDs    []uuid.UUID `bun:"check_ids,array"`
	SeverityMin string      `bun:"severity_min"`
	Enabled     bool        `bun:"enabled"`
	Version     int64       `bun:"version"`
	CreatedAt   time.Time   `bun:"created_at"`
	UpdatedAt   time.Time   `bun:"updated_at"`

	definitions.ManagedRow
}

func rowOfSubscription(s *subscription.Subscription) *subscriptionRow {
	return &subscriptionRow{
		ID: s.ID, OrgID: s.OrgID, Name: s.Name, ChannelID: s.ChannelID, Events: append([]string{}, s.Events...),
		Labels: append([]string{}, s.Selector.Labels...), CheckIDs: s.Selector.CheckIDs, SeverityMin: string(s.Selector.SeverityMin),
		Enabled: s.Enabled, Version: s.Version, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
		ManagedRow: definitions.ManagedColumns(s.ManagedBy, s.AppliedVersion),
	}
}

func (r *subscriptionRow) subscription() subscription.Subscription {
	s := subscription.Subscription{
		ID: r.ID, OrgID: r.OrgID, Name: r.Name, ChannelID: r.ChannelID, Events: r.Events,
		Selector: subscription.Selector{CheckIDs: r.CheckIDs, SeverityMin: vigil.Severity(r.SeverityMin)},
		Enabled:  r.Enabled, Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
		ManagedBy: r.ManagedBy(), AppliedVersion: r.Applied,
	}
	if len(r.Labels) > 0 {
		s.Selector.Labels = r.Labels
	}
	return s
}

func subscriptionsOf(rows []subscriptionRow) []subscription.Subscription {
	return pg.Map(rows, (*subscriptionRow).subscription)
}

// CreateSubscription stores a new subscription of its organization. Zero ids and times are filled
// in. More subscriptions than the plan allows are a CodePlanLimit error; a channel or a check that
// is not the organization's is a CodeInvalid error. Warnings say what the selector misses now.
func (s *Store) CreateSubscription(ctx context.Context, one subscription.Subscription) (subscription.Subscription, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, one.OrgID)
		if err != nil {
			return err
		}
		changes := &project.Changes{Subscriptions: []project.Edit[subscription.Subscription]{{After: &one}}}
		if err := s.edit(ctx, tx, one.OrgID, tier, changes); err != nil {
			return err
		}
		if one.Warnings, err = subscriptionWarnings(ctx, tx, &one); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, one)
	})
	if err != nil {
		return subscription.Subscription{}, pg.Wrap("create subscription", err)
	}
	return one, nil
}

// subscriptionWarnings says where a subscription selects nothing, or its channel gets nothing, as
// things are.
func subscriptionWarnings(ctx context.Context, tx bun.Tx, s *subscription.Subscription) ([]string, error) {
	warnings := s.Unmatched()
	var disabled bool
	err := tx.NewRaw("SELECT EXISTS (SELECT FROM channels WHERE id = ? AND NOT enabled)", s.ChannelID).Scan(ctx, &disabled)
	if err != nil {
		return nil, fmt.Errorf("look for the channel: %w", err)
	}
	if disabled && s.Enabled {
		warnings = append(warnings, "channel_id: the channel is disabled and gets nothing until it is enabled")
	}
	if !s.Selector.OfChecks() {
		return warnings, nil
	}
	selectors, err := vigil.ParseLabelSelectors("selector.labels", s.Selector.Labels)
	if err != nil {
		return nil, err
	}
	checks := tx.NewSelect().TableExpr("checks AS c").ColumnExpr("1").Where("c.org_id = ? AND c."+pg.NotDrill, s.OrgID)
	if s.Selector.CheckIDs != nil {
		checks = checks.Where("c.id = ANY(?)", pgdialect.Array(s.Selector.CheckIDs))
	}
	var some bool
	err = tx.NewRaw("SELECT EXISTS (?)", pg.WhereLabels(checks, "c", selectors)).Scan(ctx, &some)
	if err != nil {
		return nil, fmt.Errorf("look for what is selected: %w", err)
	}
	if !some {
		warnings = append(warnings, "selector: selects no check now, so that the channel gets no event of one; one that is added later may match")
	}
	return warnings, nil
}

// Subscription finds a subscription of the organization.
func (s *Store) Subscription(ctx context.Context, orgID, id uuid.UUID) (subscription.Subscription, error) {
	return readSubscription(ctx, s.db.NewSelect(), orgID, id)
}

func readSubscription(ctx context.Context, query *bun.SelectQuery, orgID, id uuid.UUID) (subscription.Subscription, error) {
	var row subscriptionRow
	if err := query.Model(&row).Where("s.id = ? AND s.org_id = ?", id, orgID).Scan(ctx); err != nil {
		return subscription.Subscription{}, pg.Found("subscription", err)
	}
	return row.subscription(), nil
}

// Subscriptions returns a page of the organization's subscriptions that a filter selects, newest
// first, and the extent of the list.
func (s *Store) Subscriptions(
	ctx context.Context, orgID uuid.UUID, f subscription.Filter,
) ([]subscription.Subscription, listing.Extent, error) {
	rows, extent, err := pg.SmallRows[subscriptionRow]{
		What: "subscriptions", Alias: "s", Order: pg.NewestFirst(),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery { return whereSubscriptions(query, orgID, f) },
		Position: func(r *subscriptionRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}.Page(ctx, s.db, f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	return subscriptionsOf(rows), extent, nil
}

func whereSubscriptions(query *bun.SelectQuery, orgID uuid.UUID, f subscription.Filter) *bun.SelectQuery {
	query = query.Where("s.org_id = ?", orgID)
	if f.Query != "" {
		query = query.Where("strpos(lower(s.name), lower(?)) > 0", f.Query)
	}
	if f.ChannelID != uuid.Nil {
		query = query.Where("s.channel_id = ?", f.ChannelID)
	}
	if f.Event != "" {
		query = query.Where("s.events && ?", pgdialect.Array(subscription.PatternsOf(f.Event)))
	}
	if f.Enabled != nil {
		query = query.Where("s.enabled = ?", *f.Enabled)
	}
	return definitions.WhereManaged(query, "s", f.Managed)
}

// UpdateSubscription changes a subscription of the organization: change edits a copy of what is
// stored, and may return an error, which UpdateSubscription returns unchanged. A change that leaves
// it equal is none. Errors are those of CreateSubscription; an unknown one is a CodeNotFound error.
func (s *Store) UpdateSubscription(
	ctx context.Context, orgID, id uuid.UUID, change func(*subscription.Subscription) error,
) (subscription.Subscription, error) {
	var after subscription.Subscription
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := readSubscription(ctx, tx.NewSelect().For("NO KEY UPDATE"), orgID, id)
		if err != nil {
			return err
		}
		after = before
		after.Events, after.Selector.Labels = slices.Clone(before.Events), slices.Clone(before.Selector.Labels)
		after.Selector.CheckIDs = slices.Clone(before.Selector.CheckIDs)
		if err := change(&after); err != nil {
			return err
		}
		after.ID, after.OrgID, after.CreatedAt = before.ID, before.OrgID, before.CreatedAt
		after.AppliedVersion = definitions.ManagedChange(before.ManagedBy, after.ManagedBy, before.AppliedVersion)
		if !sameSubscription(&before, &after) {
			changes := &project.Changes{Subscriptions: []project.Edit[subscription.Subscription]{{Before: &before, After: &after}}}
			if err := s.edit(ctx, tx, orgID, "", changes); err != nil {
				return err
			}
		}
		after.Warnings, err = subscriptionWarnings(ctx, tx, &after)
		return err
	})
	if err != nil {
		return subscription.Subscription{}, pg.Wrap("update subscription", err)
	}
	return after, nil
}

func sameSubscription(a, b *subscription.Subscription) bool {
	return a.Name == b.Name && a.ChannelID == b.ChannelID && slices.Equal(a.Events, b.Events) && a.Enabled == b.Enabled &&
		slices.Equal(a.Selector.Labels, b.Selector.Labels) && a.Selector.SeverityMin == b.Selector.SeverityMin &&
		(a.Selector.CheckIDs == nil) == (b.Selector.CheckIDs == nil) && slices.Equal(a.Selector.CheckIDs, b.Selector.CheckIDs) &&
		vigil.SameManager(a.ManagedBy, b.ManagedBy)
}

// DeleteSubscription deletes a subscription. Its channel still gets the ends of the incidents that it
// received the beginnings of. An unknown one is a CodeNotFound error, and a version that match does not
// accept a CodePrecondition error.
func (s *Store) DeleteSubscription(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := readSubscription(ctx, tx.NewSelect().For("UPDATE"), orgID, id)
		if err != nil {
			return err
		}
		if err := match.Check("subscription", before.Version); err != nil {
			return err
		}
		return s.edit(ctx, tx, orgID, "", &project.Changes{Subscriptions: []project.Edit[subscription.Subscription]{{Before: &before}}})
	})
	return pg.Wrap("delete subscription", err)
}

// lockSubscriptionsOf locks and reads the subscriptions of a channel, by id.
func lockSubscriptionsOf(ctx context.Context, tx bun.Tx, orgID, channelID uuid.UUID) ([]subscription.Subscription, error) {
	var rows []subscriptionRow
	err := tx.NewSelect().Model(&rows).Where("s.org_id = ? AND s.channel_id = ?", orgID, channelID).OrderExpr("s.id").For("UPDATE").Scan(ctx)
	return subscriptionsOf(rows), pg.Wrap("find the subscriptions of a channel", err)
}
