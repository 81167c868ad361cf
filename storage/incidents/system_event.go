// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// PublishSystem stores a system event for the stream of its organization, and its deliveries to the
// channels that are subscribed to it; one that is stored already is not stored again. Without a name
// of the organization it reads that. As publish, it must be the last statement of a transaction. The
// sweep starts the deliveries at once.
func (s *Store) PublishSystem(ctx context.Context, tx bun.Tx, c events.SystemContent) error {
	return s.PublishSystemTo(ctx, tx, c, nil)
}

// PublishSystemTo is PublishSystem with deliveries to these channels of the organization besides those that are
// subscribed; one that is gone or disabled gets none.
func (s *Store) PublishSystemTo(ctx context.Context, tx bun.Tx, c events.SystemContent, channels []uuid.UUID) error {
	var known []struct {
		Name   string
		Stored bool
	}
	err := tx.NewRaw("SELECT o.name, EXISTS (SELECT FROM events WHERE id = ?) AS stored FROM organizations AS o WHERE o.id = ?",
		events.ID(c.SubjectID, c.Type), c.OrgID).Scan(ctx, &known)
	if err != nil {
		return fmt.Errorf("look for the event: %w", err)
	}
	if len(known) == 0 || known[0].Stored { // an organization that is gone has no stream
		return nil
	}
	if c.OrganizationName == "" {
		c.OrganizationName = known[0].Name
	}
	event, err := events.NewSystem(&c)
	if err != nil {
		return err
	}
	to, err := s.systemRecipients(ctx, tx, &event, c.Severity)
	if err != nil {
		return err
	}
	if len(channels) > 0 {
		named, err := s.readRecipients(ctx, tx, c.OrgID, []vigil.Rule{{Channels: channels, NotifyOn: vigil.NotifyUnhealthy}})
		if err != nil {
			return err
		}
		for _, one := range named {
			if !slices.ContainsFunc(to, func(r vigil.Recipient) bool { return r.ChannelID == one.ChannelID }) {
				to = append(to, one)
			}
		}
	}
	return s.publish(ctx, tx, event, to)
}

// systemRecipients returns the channels that are subscribed to a system event. A channel that the
// event is about is left out: the message would fail there, or say what is seen.
func (s *Store) systemRecipients(ctx context.Context, tx bun.Tx, e *vigil.Event, severity vigil.Severity) ([]vigil.Recipient, error) {
	of := topic{orgID: e.OrgID, checkID: e.CheckID, severities: subscription.UpTo(severity)}
	if e.CheckID != uuid.Nil {
		var rows []struct {
			Labels vigil.Labels `bun:"labels,type:jsonb"`
		}
		if err := tx.NewRaw("SELECT labels FROM checks WHERE id = ?", e.CheckID).Scan(ctx, &rows); err != nil {
			return nil, fmt.Errorf("read the labels: %w", err)
		}
		if len(rows) > 0 {
			of.labels = rows[0].Labels
		}
	}
	to, err := s.subscribedTo(ctx, tx, of, e.Type)
	if err != nil || len(to) == 0 {
		return nil, err
	}
	var about struct {
		Data struct {
			Channel struct {
				ID uuid.UUID `json:"id"`
			} `json:"channel"`
		} `json:"data"`
	}
	if err := json.Unmarshal(e.Envelope, &about); err != nil {
		return nil, fmt.Errorf("read which channel the event is about: %w", err)
	}
	return slices.DeleteFunc(to, func(r vigil.Recipient) bool { return r.ChannelID == about.Data.Channel.ID }), nil
}
