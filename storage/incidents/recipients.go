// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// subscriberRow is a subscription that selects an event, with its channel.
type subscriberRow struct {
	ID             uuid.UUID `bun:"id"`
	Name           string    `bun:"name"`
	Events         []string  `bun:"events,array"`
	ChannelID      uuid.UUID `bun:"channel_id"`
	ChannelType    string    `bun:"channel_type"`
	ChannelName    string    `bun:"channel_name"`
	ChannelEnabled bool      `bun:"channel_enabled"`
}

// subscribersOf is an SQL query for the enabled subscriptions, with their channels, of the
// @org that receive one of the @patterns of events of one of the @severities (see
// subscription.UpTo), about the @check with the labels @terms (see subscription.SelectingTerms).
// The zero id is no check.
const subscribersOf = `SELECT s.id, s.name, s.events, s.channel_id, ch.type AS channel_type, ch.name AS channel_name,
		ch.enabled AS channel_enabled
	FROM subscriptions AS s JOIN channels AS ch ON ch.id = s.channel_id
	WHERE s.org_id = @org AND s.enabled AND s.events && @patterns::text[] AND s.severity_min = ANY(@severities::text[])
		AND (s.check_ids IS NULL OR @check = ANY(s.check_ids)) AND s.labels <@ @terms::text[]
	ORDER BY s.created_at, s.id`

// topic is what a subscription selects by: what an event is about.
type topic struct {
	orgID   uuid.UUID
	checkID uuid.UUID // uuid.Nil: no check
	labels  vigil.Labels
	// severities are the least ones that select it.
	severities []string
	// drill that it is about: it notifies by its rules and by the subscriptions that it names.
	// uuid.Nil: none.
	drill uuid.UUID
}

func aboutCheck(c *vigil.Check, severity vigil.Severity) topic {
	return topic{orgID: c.OrgID, checkID: c.ID, labels: c.Labels, severities: subscription.UpTo(severity), drill: c.DrillID}
}

// subscribers reads the subscriptions that select an event of one of the types. Channels that are
// disabled are left out.
func (s *Store) subscribers(ctx context.Context, tx bun.IDB, of topic, types ...vigil.EventType) ([]subscription.Subscriber, error) {
	all, err := s.allSubscribers(ctx, tx, of, types...)
	return slices.DeleteFunc(all, func(one subscription.Subscriber) bool { return !one.Channel.Enabled }), err
}

// allSubscribers is subscribers with those whose channels are disabled.
func (s *Store) allSubscribers(ctx context.Context, tx bun.IDB, of topic, types ...vigil.EventType) ([]subscription.Subscriber, error) {
	if of.drill != uuid.Nil {
		return s.subscribersOfDrill(ctx, tx, of)
	}
	var patterns []string
	for _, t := range types {
		patterns = append(patterns, subscription.PatternsOf(t)...)
	}
	rows, err := pg.Rows[subscriberRow](ctx, s.db.In(tx), subscribersOf, pg.Named{
		"org": of.orgID, "patterns": patterns, "severities": of.severities, "check": of.checkID, "terms": subscription.SelectingTerms(of.labels),
	})
	if err != nil {
		return nil, pg.Wrap("read the subscriptions", err)
	}
	return subscribersFrom(rows, of.orgID), nil
}

// namedSubscribers is an SQL query for the subscriptions of the organization ?0 that are among the
// ids ?1, with their channels, in the order of their age. A drill does not ask what they select: it
// proves that what they select arrives.
const namedSubscribers = `SELECT s.id, s.name, ?2::text[] AS events, s.channel_id, ch.type AS channel_type, ch.name AS channel_name,
		ch.enabled AND s.enabled AS channel_enabled
	FROM subscriptions AS s JOIN channels AS ch ON ch.id = s.channel_id
	WHERE s.org_id = ?0 AND s.id = ANY(?1) ORDER BY s.created_at, s.id`

// DrillSubscribers returns subscriptions of an organization as a drill notifies by them: of its
// opening and of its end. Channel.Enabled is false also where the subscription is disabled. Those
// that do not exist are missing.
func (s *Store) DrillSubscribers(ctx context.Context, tx bun.IDB, orgID uuid.UUID, ids []uuid.UUID) ([]subscription.Subscriber, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []subscriberRow
	events := []string{string(vigil.EventTriggered), string(vigil.EventResolved)}
	err := tx.NewRaw(namedSubscribers, orgID, pgdialect.Array(ids), pgdialect.Array(events)).Scan(ctx, &rows)
	return subscribersFrom(rows, orgID), pg.Wrap("read the subscriptions of a drill", err)
}

// JoinDrillSubscribers adds the channels of subscriptions to the recipients of a drill.
func (s *Store) JoinDrillSubscribers(known []vigil.Recipient, subscribers []subscription.Subscriber) []vigil.Recipient {
	return subscription.Join(known, subscribers, vigil.EventTriggered, vigil.EventResolved, s.policies)
}

// subscribersOfDrill reads the subscriptions that a drill names.
func (s *Store) subscribersOfDrill(ctx context.Context, tx bun.IDB, of topic) ([]subscription.Subscriber, error) {
	var ids []uuid.UUID
	err := tx.NewRaw(`SELECT named.id::uuid FROM drills AS dr, jsonb_array_elements_text(dr.request->'subscription_ids') AS named (id)
		WHERE dr.id = ? AND dr.org_id = ?`, of.drill, of.orgID).Scan(ctx, &ids)
	if err != nil {
		return nil, pg.Wrap("read what a drill is about", err)
	}
	return s.DrillSubscribers(ctx, tx, of.orgID, ids)
}

func subscribersFrom(rows []subscriberRow, orgID uuid.UUID) []subscription.Subscriber {
	list := make([]subscription.Subscriber, len(rows))
	for i, r := range rows {
		list[i] = subscription.Subscriber{
			ID:     r.ID,
			Name:   r.Name,
			Events: r.Events,
			Channel: vigil.Channel{
				ID:      r.ChannelID,
				OrgID:   orgID,
				Type:    vigil.ChannelType(r.ChannelType),
				Name:    r.ChannelName,
				Enabled: r.ChannelEnabled,
			},
		}
	}
	return list
}

// joinSubscribed adds the channels that are subscribed to the beginning or the end of an incident
// of a check to its recipients.
func (s *Store) joinSubscribed(
	ctx context.Context, tx bun.Tx, check *vigil.Check, severity vigil.Severity, known []vigil.Recipient,
) ([]vigil.Recipient, error) {
	subscribed, err := s.subscribers(ctx, tx, aboutCheck(check, severity), vigil.EventTriggered, vigil.EventResolved)
	return subscription.Join(known, subscribed, vigil.EventTriggered, vigil.EventResolved, s.policies), err
}

// subscribedTo returns the channels that are subscribed to an event.
func (s *Store) subscribedTo(ctx context.Context, tx bun.Tx, of topic, t vigil.EventType) ([]vigil.Recipient, error) {
	subscribed, err := s.subscribers(ctx, tx, of, t)
	return subscription.RecipientsOf(t, subscribed, s.policies), err
}

// Recipients returns whom rules of an organization notify, as an incident that opens now does.
func (s *Store) Recipients(ctx context.Context, tx bun.Tx, orgID uuid.UUID, rules []vigil.Rule) ([]vigil.Recipient, error) {
	return s.readRecipients(ctx, tx, orgID, rules)
}

// readRecipients reads the channels of the rules and returns the recipients.
func (s *Store) readRecipients(ctx context.Context, tx bun.Tx, orgID uuid.UUID, rules []vigil.Rule) ([]vigil.Recipient, error) {
	channels, err := s.channelsOfRules(ctx, tx, orgID, rules)
	if err != nil {
		return nil, err
	}
	return vigil.RecipientsOf(rules, channels, s.policies), nil
}

// channelsOfRules reads the channels of rules, disabled ones included: whether these get a message is
// vigil.RecipientsOf's to decide.
func (s *Store) channelsOfRules(ctx context.Context, tx bun.Tx, orgID uuid.UUID, rules []vigil.Rule) ([]vigil.Channel, error) {
	if s.policies == nil {
		return nil, errNoPolicies()
	}
	ids := []uuid.UUID{}
	for _, rule := range rules {
		ids = append(ids, rule.Channels...)
	}
	var rows []definitions.ChannelRow
	err := tx.NewSelect().Model(&rows).Column("id", "name", "type", "enabled").
		Where("ch.org_id = ? AND ch.id = ANY(?)", orgID, pgdialect.Array(ids)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the channels: %w", err)
	}
	channels := make([]vigil.Channel, len(rows))
	for i, row := range rows {
		channels[i] = vigil.Channel{ID: row.ID, Name: row.Name, Type: vigil.ChannelType(row.Type), Enabled: row.Enabled}
	}
	return channels, nil
}

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
