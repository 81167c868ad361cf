// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CheckRules returns a page of the alert rules of a check of the organization, newest
// first, and the extent of the list. An unknown check is a CodeNotFound error.
func (s *Store) CheckRules(ctx context.Context, orgID, checkID uuid.UUID, page listing.Page) ([]vigil.Rule, listing.Extent, error) {
	var exists bool
	err := s.db.NewRaw("SELECT true FROM checks WHERE id = ? AND org_id = ? AND "+pg.NotDrill, checkID, orgID).Scan(ctx, &exists)
	if err != nil {
		return nil, listing.Extent{}, pg.Found("check", err)
	}
	return s.Rules(ctx, orgID, listing.RuleFilter{CheckID: checkID, Page: page})
}

// Rules returns a page of an organization's alert rules that the filter selects, newest
// first, and the extent of the list.
func (s *Store) Rules(ctx context.Context, orgID uuid.UUID, f listing.RuleFilter) ([]vigil.Rule, listing.Extent, error) {
	rows, extent, err := pg.SmallRows[definitions.RuleRow]{
		What: "rules", Alias: "ar", Order: pg.NewestFirst(),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery { return whereRules(query, orgID, f) },
		Position: func(r *definitions.RuleRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}.Page(ctx, s.db, f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	rules, err := definitions.RulesOf(rows)
	return rules, extent, pg.Wrap("list rules", err)
}

func whereRules(query *bun.SelectQuery, orgID uuid.UUID, f listing.RuleFilter) *bun.SelectQuery {
	query = query.Where("ar.org_id = ? AND ar."+pg.NotDrill, orgID)
	if f.CheckID != uuid.Nil {
		query = query.Where("ar.check_id = ?", f.CheckID)
	}
	if f.ChannelID != uuid.Nil {
		query = query.Where("ar.channel_ids @> ARRAY[?]::uuid[]", f.ChannelID)
	}
	if f.Query != "" {
		query = query.Where("strpos(lower(ar.name), lower(?)) > 0", f.Query)
	}
	if f.Enabled != nil {
		query = query.Where("ar.enabled = ?", *f.Enabled)
	}
	return definitions.WhereManaged(pg.WhereLabels(query, "ar", f.Labels), "ar", f.Managed)
}

// RuleByID finds an alert rule of the organization. An unknown rule is a CodeNotFound
// error.
func (s *Store) RuleByID(ctx context.Context, orgID, id uuid.UUID) (vigil.Rule, error) {
	var row definitions.RuleRow
	if err := s.db.NewSelect().Model(&row).Where("ar.id = ? AND ar.org_id = ? AND ar."+pg.NotDrill, id, orgID).Scan(ctx); err != nil {
		return vigil.Rule{}, pg.Found("rule", err)
	}
	rule, err := row.Rule()
	return rule, pg.Wrap("read rule", err)
}

// ruleWarnings reads the other rules of a rule's check and returns the warnings about it.
func (s *Store) ruleWarnings(ctx context.Context, tx bun.Tx, rule *vigil.Rule) ([]string, error) {
	rows, err := pg.Rows[definitions.RuleRow](
		ctx,
		s.db.In(tx),
		"SELECT "+pg.ModelColumns[definitions.RuleRow](s.db, "ar")+` FROM alert_rules AS ar
		WHERE ar.check_id = $1 AND ar.enabled AND ar.id <> $2 ORDER BY ar.created_at, ar.id`,
		rule.CheckID,
		rule.ID,
	)
	if err != nil {
		return nil, pg.Wrap("read the other rules", err)
	}
	others, err := definitions.RulesOf(rows)
	if err != nil {
		return nil, err
	}
	return vigil.RuleWarnings(rule, others), nil
}
