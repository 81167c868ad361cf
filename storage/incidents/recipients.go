// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CheckRecipients returns the channels that receive events about a check of the organization as
// things are, with what names them: its enabled rules in the order of their age, and then the enabled
// subscriptions that select it at some severity. Disabled channels are among them, and receive nothing
// while they are disabled. An unknown check is a CodeNotFound error.
func (s *Store) CheckRecipients(ctx context.Context, orgID, checkID uuid.UUID) ([]subscription.CheckRecipient, error) {
	var check definitions.CheckRow
	err := s.db.NewSelect().
		Model(&check).
		Column("id", "org_id", "labels").
		Where("c.id = ? AND c.org_id = ? AND c."+pg.NotDrill, checkID, orgID).
		Scan(ctx)
	if err != nil {
		return nil, pg.Found("check", err)
	}
	var rows []definitions.RuleRow
	err = s.db.NewSelect().Model(&rows).Where("ar.check_id = ? AND ar.enabled", checkID).OrderExpr("ar.created_at, ar.id").Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read the rules", err)
	}
	rules, err := definitions.RulesOf(rows)
	if err != nil {
		return nil, err
	}
	of := topic{orgID: orgID, checkID: checkID, labels: definitions.LabelsOf(check.Labels), severities: subscription.UpTo(vigil.Critical)}
	subscribers, err := s.allSubscribers(ctx, s.db, of, subscription.EventsOfChecks()...)
	if err != nil {
		return nil, err
	}
	var named []uuid.UUID
	for _, rule := range rules {
		named = append(named, rule.Channels...)
	}
	var stored []definitions.ChannelRow
	err = s.db.NewSelect().Model(&stored).Column("id", "name", "type", "enabled").
		Where("ch.org_id = ? AND ch.id = ANY(?)", orgID, pgdialect.Array(append([]uuid.UUID{}, named...))).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read the channels", err)
	}
	channels := make([]vigil.Channel, len(stored))
	for i, row := range stored {
		channels[i] = vigil.Channel{ID: row.ID, Name: row.Name, Type: vigil.ChannelType(row.Type), Enabled: row.Enabled}
	}
	return slices.Clip(subscription.CheckRecipientsOf(rules, channels, subscribers)), nil
}
