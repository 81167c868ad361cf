// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// AcknowledgeIncident acknowledges an open incident. Channels that are subscribed to
// acknowledgements are notified. A retry changes nothing; a resolved incident is a
// CodeConflict error.
func (s *Store) AcknowledgeIncident(ctx context.Context, request vigil.AcknowledgeRequest) (vigil.IncidentOutcome, error) {
	return s.changeIncident(ctx, request.ID, func(c *incidentChange) error {
		switch vigil.IncidentStatus(c.row.Status) {
		case vigil.IncidentResolved:
			return vigil.Errorf(vigil.CodeConflict, "The incident is resolved and cannot be acknowledged any more.")
		case vigil.IncidentAcknowledged:
			return nil
		case vigil.IncidentActive:
		}
		by, _, err := takeText(ctx, c.tx, request.TextID)
		if err != nil {
			return err
		}
		now := s.db.Instant()
		c.row.Status, c.row.AcknowledgedAt, c.row.AcknowledgedBy = string(vigil.IncidentAcknowledged), &now, vigil.CleanText(by)
		if err := c.store(ctx); err != nil {
			return err
		}
		to, err := c.subscribedTo(ctx, vigil.EventAcknowledged)
		if err != nil {
			return err
		}
		return c.publish(ctx, vigil.EventAcknowledged, c.row.Regions, request.PublicURL, to)
	})
}

// ResolveIncident resolves an incident and stores its event and deliveries, in one
// transaction. A retry changes nothing. vigil.RecoveryRecipients decides which
// channels are notified.
func (s *Store) ResolveIncident(ctx context.Context, request vigil.ResolveRequest) (vigil.IncidentOutcome, error) {
	return s.changeIncident(ctx, request.ID, func(c *incidentChange) error {
		if c.row.Status == string(vigil.IncidentResolved) {
			return nil
		}
		by, note, err := takeText(ctx, c.tx, request.TextID)
		if err != nil {
			return err
		}
		now := s.db.Instant()
		c.row.Status, c.row.ResolvedAt, c.row.Resolution = string(vigil.IncidentResolved), &now, string(request.Resolution)
		c.row.ResolvedBy, c.row.Note = vigil.CleanText(by), vigil.CleanText(note)
		c.row.Latched, c.row.Quiet = request.Latch, append([]string{}, request.Quiet...)
		c.row.SweptAt, c.row.SweepWaitMS = now, 0
		if err := c.endRules(ctx, &request, now); err != nil {
			return err
		}
		if err := c.store(ctx); err != nil {
			return err
		}
		notified, err := c.recoveryRecipients(ctx)
		if err != nil {
			return err
		}
		return c.publish(ctx, vigil.EventResolved, request.Regions, request.PublicURL, notified)
	})
}

// incidentChange is a change of an incident in progress. The check's row is locked.
type incidentChange struct {
	db    *Store
	tx    bun.Tx
	row   Row
	check vigil.Check
	org   account.Organization
	done  bool // the incident was changed
	// rules of the incident, for those who change them.
	rules        []vigil.IncidentRule
	rulesChanged bool
}

// changeIncident runs change on an incident and returns the outcome.
func (s *Store) changeIncident(ctx context.Context, id uuid.UUID, change func(*incidentChange) error) (vigil.IncidentOutcome, error) {
	var out vigil.IncidentOutcome
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		c := incidentChange{db: s, tx: tx}
		var checkID uuid.UUID
		if err := tx.NewRaw("SELECT check_id FROM incidents AS i WHERE id = ? AND "+checkOfIncident, id).Scan(ctx, &checkID); err != nil {
			return pg.Found("incident", err)
		}
		var err error
		if c.check, c.org, err = s.lockForIncident(ctx, tx, checkID); err != nil {
			return err
		}
		if err := selectTraced(tx, &c.row).Where("i.id = ?", id).For("UPDATE").Scan(ctx); err != nil {
			return pg.Found("incident", err)
		}
		if err := change(&c); err != nil {
			return err
		}
		out.Changed, out.Drill = c.done, c.check.DrillID != uuid.Nil
		if out.Incident, err = c.row.head(); err != nil {
			return err
		}
		out.PendingDeliveries, err = pendingDeliveries(ctx, tx, c.check.Name, id)
		return err
	})
	return out, pg.Wrap("change an incident", err)
}

// store writes all that a change may have changed. The row is locked since the change began.
func (c *incidentChange) store(ctx context.Context) error {
	_, err := c.tx.NewUpdate().Model(&c.row).WherePK().Column("status", "acknowledged_at", "acknowledged_by",
		"resolved_at", "resolved_by", "resolution", "note", "latched", "quiet", "swept_at", "sweep_wait_ms",
		"rules", "latch_rules", "audience").Exec(ctx)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	c.done = true
	return nil
}

// publish stores the event of the change, the last statement of its transaction.
func (c *incidentChange) publish(ctx context.Context, t vigil.EventType, regions []string, publicURL string, to []vigil.Recipient) error {
	event, err := c.event(ctx, events.Content{Type: t, Regions: regions, PublicURL: publicURL})
	if err != nil {
		return err
	}
	return c.db.publish(ctx, c.tx, event, to)
}

// event makes the event of the change. It fills in what is known of the incident.
func (c *incidentChange) event(ctx context.Context, eventContext events.Content) (vigil.Event, error) {
	incident, err := c.row.Incident()
	if err != nil {
		return vigil.Event{}, err
	}
	eventContext.Incident, eventContext.Check, eventContext.OrganizationName = incident, c.check, c.org.Name
	switch eventContext.Type {
	case vigil.EventAcknowledged:
		eventContext.Time = *incident.AcknowledgedAt
	case vigil.EventResolved:
		eventContext.Time = *incident.ResolvedAt
	default:
	}
	rule, err := definitions.ReadRule(ctx, c.tx, incident.OrgID, incident.CheckID, incident.RuleID)
	if err == nil {
		eventContext.Rule = rule
	} else if vigil.ErrorCode(err) != vigil.CodeNotFound {
		return vigil.Event{}, err
	}
	return events.New(eventContext)
}

// subscribedTo returns the channels that are subscribed to an event between the beginning of the
// incident and its end, or behind it, by what they select now.
func (c *incidentChange) subscribedTo(ctx context.Context, t vigil.EventType) ([]vigil.Recipient, error) {
	incident, err := c.row.Incident()
	if err != nil {
		return nil, err
	}
	return c.db.subscribedTo(ctx, c.tx, aboutCheck(&c.check, incident.WorstSeverity()), t)
}

// recoveryRecipients returns the recipients of the recovery. It locks pending
// deliveries of the opening, so that none of them ends before the commit.
func (c *incidentChange) recoveryRecipients(ctx context.Context) ([]vigil.Recipient, error) {
	recipients, err := c.row.recipients()
	if err != nil {
		return nil, err
	}
	var pending []uuid.UUID
	err = c.tx.NewRaw("SELECT channel_id FROM deliveries "+
		"WHERE incident_id = ? AND event_type = ? AND status = 'pending' ORDER BY id FOR UPDATE",
		c.row.ID, string(vigil.EventTriggered)).
		Scan(ctx, &pending)
	if err != nil {
		return nil, fmt.Errorf("read pending deliveries: %w", err)
	}
	return vigil.RecoveryRecipients(recipients, pending), nil
}

// KeepLatch stores what a latch still holds: the regions that have been quiet since a user
// resolved the incident, and the rules. It releases the latch when released is true.
func (s *Store) KeepLatch(ctx context.Context, latch vigil.Latch, released bool) error {
	_, err := s.db.NewRaw(
		`UPDATE incidents SET quiet = ?quiet, latch_rules = ?rules, latched = latched AND NOT ?released, swept_at = ?now, sweep_wait_ms = 0
		WHERE id = ?id`,
		pg.Named{
			"quiet": pgdialect.Array(append([]string{}, latch.Quiet...)), "rules": pgdialect.Array(append([]uuid.UUID{}, latch.Rules...)),
			"released": released, "now": s.db.Instant(), "id": latch.IncidentID,
		}).Exec(ctx)
	return pg.Wrap("keep a latch", err)
}
