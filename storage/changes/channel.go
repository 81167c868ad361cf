// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CreateChannel stores a new channel of its organization. Zero ids and times are
// filled in. More channels than the plan allows are a CodePlanLimit error.
func (s *Store) CreateChannel(ctx context.Context, c vigil.Channel) (vigil.Channel, error) {
	c.DisabledReason = ""
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, c.OrgID)
		if err != nil {
			return err
		}
		if err := s.edit(ctx, tx, c.OrgID, tier, &project.Changes{Channels: []project.Edit[vigil.Channel]{{After: &c}}}); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, c)
	})
	if err != nil {
		return vigil.Channel{}, pg.Wrap("create channel", err)
	}
	return c, nil
}

// listedChannelRow is a channel on a page of a list.
type listedChannelRow struct {
	definitions.ChannelRow `bun:",extend"`

	PageLeft int64 `bun:"page_left,scanonly"`
}

// Channels returns a page of an organization's channels that the filter selects, newest
// first, and the extent of the list. A page ends before its limit when it holds 8 MiB.
func (s *Store) Channels(ctx context.Context, orgID uuid.UUID, f listing.ChannelFilter) ([]vigil.Channel, listing.Extent, error) {
	var extent listing.Extent
	var err error
	if extent.Total, err = s.db.PageTotal(ctx, whereChannels(s.db.NewSelect(), orgID, f), f.Page); err != nil {
		return nil, listing.Extent{}, pg.Wrap("count channels", err)
	}
	page, err := pg.NewestFirst().Window(whereChannels(s.db.NewSelect(), orgID, f).ColumnExpr("ch.*"), "ch", f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	var rows []listedChannelRow
	if err := s.db.BoundedPage(page, pg.NewestFirst().By("p"), "octet_length(p.config::text)").Scan(ctx, &rows); err != nil {
		return nil, listing.Extent{}, pg.Wrap("list channels", err)
	}
	rows, extent.Next = pg.EndPage(rows, f.Page, func(r *listedChannelRow) bool { return r.PageLeft > 0 },
		func(r *listedChannelRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) })
	plain := make([]definitions.ChannelRow, len(rows))
	for i := range rows {
		plain[i] = rows[i].ChannelRow
	}
	channels, err := s.definitions.OpenedChannels(plain)
	return channels, extent, pg.Wrap("list channels", err)
}

func whereChannels(query *bun.SelectQuery, orgID uuid.UUID, f listing.ChannelFilter) *bun.SelectQuery {
	query = query.TableExpr("channels AS ch").Where("ch.org_id = ?", orgID)
	if f.Query != "" {
		query = query.Where("strpos(lower(ch.name), lower(?)) > 0", f.Query)
	}
	if f.Type != "" {
		query = query.Where("ch.type = ?", string(f.Type))
	}
	if f.Enabled != nil {
		query = query.Where("ch.enabled = ?", *f.Enabled)
	}
	return definitions.WhereManaged(pg.WhereLabels(query, "ch", f.Labels), "ch", f.Managed)
}

// ChannelsByID returns those of the given channels that the organization has, in
// the order of the ids.
func (s *Store) ChannelsByID(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) ([]vigil.Channel, error) {
	var rows []definitions.ChannelRow
	err := s.db.NewSelect().Model(&rows).Where("ch.org_id = ? AND ch.id = ANY(?)", orgID, pgdialect.Array(ids)).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read channels", err)
	}
	slices.SortFunc(rows, func(a, b definitions.ChannelRow) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	channels, err := s.definitions.OpenedChannels(rows)
	return channels, pg.Wrap("read channels", err)
}

// UpdateChannel changes a channel of the organization: change edits a copy of
// what is stored, and may refuse with an error, which is returned as it is. Only
// name, config, enabled, labels, fallback and managed_by can be changed; a change that leaves them equal is
// none. Enabling or disabling the channel clears the platform's reason for
// disabling it.
func (s *Store) UpdateChannel(ctx context.Context, orgID, id uuid.UUID, change func(*vigil.Channel) error) (vigil.Channel, error) {
	var after vigil.Channel
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		before, err := s.definitions.ReadChannel(ctx, tx.NewSelect().For("NO KEY UPDATE"), orgID, id)
		if err != nil {
			return err
		}
		draft := before
		draft.Config = slices.Clone(before.Config)
		if err := change(&draft); err != nil {
			return err
		}
		after = before
		after.Name, after.Config, after.Enabled, after.Labels = draft.Name, draft.Config, draft.Enabled, draft.Labels
		after.Fallback = draft.Fallback
		after.ManagedBy, after.AppliedVersion = draft.ManagedBy, definitions.ManagedChange(
			before.ManagedBy,
			draft.ManagedBy,
			before.AppliedVersion,
		)
		if after.Enabled != before.Enabled {
			after.DisabledReason = ""
		}
		if after.Name == before.Name && after.Enabled == before.Enabled && maps.Equal(after.Labels, before.Labels) &&
			after.Fallback == before.Fallback &&
			definitions.SameConfig(after.Config, before.Config) && vigil.SameManager(after.ManagedBy, before.ManagedBy) {
			after = before
			return nil
		}
		return s.edit(ctx, tx, orgID, "", &project.Changes{Channels: []project.Edit[vigil.Channel]{{Before: &before, After: &after}}})
	})
	if err != nil {
		return vigil.Channel{}, pg.Wrap("update channel", err)
	}
	return after, nil
}

// DisableChannel disables a channel for a reason of the platform, and reports
// whether this call did so. Its pending deliveries are due at once: they are canceled, and go to its fallback.
// It returns false for one that is disabled already or deleted.
func (s *Store) DisableChannel(ctx context.Context, id uuid.UUID, reason string) (did bool, err error) {
	err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewUpdate().Model((*definitions.ChannelRow)(nil)).
			Set("enabled = false").Set("disabled_reason = ?", strings.ReplaceAll(strings.ToValidUTF8(reason, " "), "\x00", "")).
			Set("version = version + 1").Set("updated_at = ?", s.db.Instant()).
			Where("id = ? AND enabled", id).Exec(ctx)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if did = n == 1; err != nil || !did {
			return err
		}
		return incidents.SweepDeliveriesSoon(ctx, tx, id)
	})
	return did && err == nil, pg.Wrap("disable channel", err)
}

// errUsed is the cause of the refusal to delete a channel that rules, subscriptions or other channels use.
var errUsed = errors.New("the channel is used")

// maxDeletions bounds how often a deletion is repeated because a rule or a channel began
// to use the channel while it was removed from the others.
const maxDeletions = 5

// DeleteChannel removes a channel of the organization. While rules or subscriptions use it, or channels
// fall back to it, that is a CodeConflict error that names them; with force the channel is removed
// from rules and channels, and rules left without one are deleted, as are its subscriptions. That takes
// several transactions, each of a few checks, so that results wait for none of them; after an error
// some rules may have changed. It returns the checks whose rules, and so revisions, changed. A version
// that match does not accept is a CodePrecondition error.
func (s *Store) DeleteChannel(ctx context.Context, orgID, id uuid.UUID, force bool, match vigil.Precondition) ([]uuid.UUID, error) {
	// The version is compared before the rules change, and again with the channel's row.
	err := pg.MatchStored(ctx, s.db, "channel", "SELECT version FROM channels WHERE id = ? AND org_id = ?", id, match, orgID)
	if err != nil {
		return nil, pg.Wrap("delete channel", err)
	}
	var checks []uuid.UUID
	for attempt := 1; ; attempt++ {
		if force {
			changed, err := s.dropFromRules(ctx, orgID, id)
			if err != nil {
				return nil, pg.Wrap("delete channel", err)
			}
			checks = append(checks, changed...)
			if err := s.dropFromChannels(ctx, orgID, id); err != nil {
				return nil, pg.Wrap("delete channel", err)
			}
		}
		err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			changes := &project.Changes{Channels: []project.Edit[vigil.Channel]{{Before: &vigil.Channel{ID: id}}}}
			if force {
				subscriptions, err := lockSubscriptionsOf(ctx, tx, orgID, id)
				if err != nil {
					return err
				}
				for i := range subscriptions {
					changes.Subscriptions = append(changes.Subscriptions, project.Edit[subscription.Subscription]{Before: &subscriptions[i]})
				}
			}
			const locked = "SELECT version FROM channels WHERE id = ? AND org_id = ? FOR UPDATE"
			if err := pg.MatchStored(ctx, tx, "channel", locked, id, match, orgID); err != nil {
				return err
			}
			return s.edit(ctx, tx, orgID, "", changes)
		})
		switch {
		case err == nil:
			return checks, nil
		case !force || !errors.Is(err, errUsed) || attempt == maxDeletions:
			return nil, pg.Wrap("delete channel", err)
		}
	}
}

// deleteChannels deletes channels that nothing uses. Once the rows are deleted none can begin to use them, so
// what is found then is all that did so in between.
func deleteChannels(ctx context.Context, tx bun.Tx, orgID uuid.UUID, ids []uuid.UUID) error {
	for _, id := range ids {
		if _, err := tx.NewRaw("DELETE FROM channels WHERE id = ?", id).Exec(ctx); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	for _, id := range ids {
		if err := unused(ctx, tx, orgID, id); err != nil {
			return err
		}
	}
	return nil
}

// unused refuses the deletion of a channel that rules, subscriptions or other channels use.
func unused(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) error {
	rules, err := rulesUsing(ctx, tx, orgID, id)
	if err != nil {
		return err
	}
	if len(rules) > 0 {
		return inUse("Alert rules", "rules", rules, "Change them first, or delete with ?force=true, "+
			"which takes the channel out of them and deletes the rules left with none.")
	}
	var subscriptions []string
	err = tx.NewRaw("SELECT name FROM subscriptions WHERE org_id = ? AND channel_id = ? ORDER BY name, id", orgID, id).
		Scan(ctx, &subscriptions)
	if err != nil {
		return fmt.Errorf("find the subscriptions of a channel: %w", err)
	}
	if len(subscriptions) > 0 {
		return inUse("Subscriptions", "subscriptions", subscriptions, "Change them first, or delete with ?force=true, which deletes them.")
	}
	channels, err := channelsFallingBack(ctx, tx, orgID, id)
	if err != nil {
		return err
	}
	if len(channels) > 0 {
		return fallenBackTo(channels)
	}
	return nil
}

// inUse names what keeps a channel from being deleted, a few of them in the sentence and all in the
// details, as the given member.
func inUse(what, member string, names []string, advice string) error {
	shown, more := listed(names)
	err := vigil.Errorf(vigil.CodeConflict,
		"%s use this channel: %s%s. %s", what, strings.Join(shown, ", "), more, advice)
	err.Details, err.Cause = map[string]any{member: names}, errUsed
	return err
}
