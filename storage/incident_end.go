package storage

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"vigil"
)

// AcknowledgeIncident records who works on an open incident. Only the first call
// changes it; a resolved incident is a CodeConflict error.
func (s *Store) AcknowledgeIncident(ctx context.Context, id uuid.UUID, by, publicURL string) (vigil.IncidentOutcome, error) {
	return s.changeIncident(ctx, id, func(c *incidentChange) error {
		switch vigil.IncidentStatus(c.row.Status) {
		case vigil.IncidentResolved:
			return vigil.Errorf(vigil.CodeConflict, "The incident is resolved and cannot be acknowledged any more.")
		case vigil.IncidentAcknowledged:
			return nil
		case vigil.IncidentActive:
		}
		now := s.instant()
		c.row.Status, c.row.AcknowledgedAt, c.row.AcknowledgedBy = string(vigil.IncidentAcknowledged), &now, cleanText(by)
		if err := c.store(ctx); err != nil {
			return err
		}
		return c.publish(ctx, vigil.EventAcknowledged, c.row.Regions, publicURL, nil)
	})
}

// ResolveIncident ends an incident with its event and deliveries, in one
// transaction. Only the first call changes it. vigil.RecoveryRecipients decides
// which channels are notified. When the check was removed, pending deliveries are
// canceled.
func (s *Store) ResolveIncident(ctx context.Context, closing vigil.ResolveRequest) (vigil.IncidentOutcome, error) {
	return s.changeIncident(ctx, closing.ID, func(c *incidentChange) error {
		if c.row.Status == string(vigil.IncidentResolved) {
			return nil
		}
		now := s.instant()
		c.row.Status, c.row.ResolvedAt, c.row.Resolution = string(vigil.IncidentResolved), &now, string(closing.Resolution)
		c.row.ResolvedBy, c.row.Note = cleanText(closing.By), cleanText(closing.Note)
		c.row.Latched, c.row.Quiet = closing.Latch, append([]string{}, closing.Quiet...)
		c.row.SweptAt, c.row.SweepWaitMS = now, 0
		if err := c.store(ctx); err != nil {
			return err
		}
		notified, err := c.recoveryRecipients(ctx, closing.Resolution)
		if err != nil {
			return err
		}
		return c.publish(ctx, vigil.EventResolved, closing.Regions, closing.PublicURL, notified)
	})
}

// incidentChange is the change of one incident in a transaction that locks its check.
type incidentChange struct {
	db    *Store
	tx    bun.Tx
	row   incidentRow
	check vigil.Check
	org   vigil.Organization
	done  bool // something was changed
}

// changeIncident applies change to an incident and returns its outcome.
func (s *Store) changeIncident(ctx context.Context, id uuid.UUID, change func(*incidentChange) error) (vigil.IncidentOutcome, error) {
	var out vigil.IncidentOutcome
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		c := incidentChange{db: s, tx: tx}
		var checkID uuid.UUID
		if err := tx.NewRaw("SELECT check_id FROM incidents WHERE id = ?", id).Scan(ctx, &checkID); err != nil {
			return found("incident", err)
		}
		var err error
		if c.check, c.org, err = s.lockForIncident(ctx, tx, checkID); err != nil {
			return err
		}
		if err := tx.NewSelect().Model(&c.row).Where("i.id = ?", id).For("UPDATE").Scan(ctx); err != nil {
			return found("incident", err)
		}
		if err := change(&c); err != nil {
			return err
		}
		out.Incident, out.Changed = c.row.head(), c.done
		out.PendingDeliveries, err = pendingDeliveries(ctx, tx, c.check.Name, id)
		return err
	})
	return out, wrap("change an incident", err)
}

func (c *incidentChange) store(ctx context.Context) error {
	_, err := c.tx.NewUpdate().Model(&c.row).WherePK().Column("status", "acknowledged_at", "acknowledged_by",
		"resolved_at", "resolved_by", "resolution", "note", "latched", "quiet", "swept_at", "sweep_wait_ms").Exec(ctx)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	c.done = true
	return nil
}

func (c *incidentChange) publish(ctx context.Context, t vigil.EventType, regions []string, publicURL string, to []vigil.Recipient) error {
	incident, err := c.row.incident()
	if err != nil {
		return err
	}
	details := vigil.EventContext{
		Type: t, Incident: incident, Check: c.check, Organization: c.org,
		Regions: regions, PublicURL: publicURL,
	}
	switch t {
	case vigil.EventAcknowledged:
		details.Time = *incident.AcknowledgedAt
	case vigil.EventResolved:
		details.Time = *incident.ResolvedAt
	case vigil.EventTriggered, vigil.EventTest:
	}
	rule, err := readRule(ctx, c.tx, incident.OrgID, incident.CheckID, incident.RuleID)
	if err == nil {
		details.Rule = rule
	} else if vigil.ErrorCode(err) != vigil.CodeNotFound {
		return err
	}
	event, err := vigil.NewEvent(details)
	if err != nil {
		return err
	}
	return c.db.publish(ctx, c.tx, event, to)
}

// recoveryRecipients returns those that are notified that the incident ended. It
// locks pending deliveries of the opening, so that none of them ends in between.
func (c *incidentChange) recoveryRecipients(ctx context.Context, how vigil.Resolution) ([]vigil.Recipient, error) {
	if how == vigil.ResolvedCheckRemoved {
		now := c.db.instant()
		_, err := c.tx.NewRaw(`UPDATE deliveries SET status = 'canceled', redeliver = false, finished_at = ?, updated_at = ?
			WHERE incident_id = ? AND status = 'pending'`,
			now, now, c.row.ID).Exec(ctx)
		return nil, wrap("cancel deliveries", err)
	}
	recipients, err := c.row.recipients(c.db.policies)
	if err != nil {
		return nil, err
	}
	var pending []uuid.UUID
	err = c.tx.NewRaw(`SELECT channel_id FROM deliveries
		WHERE incident_id = ? AND event_type = ? AND status = 'pending' ORDER BY id FOR UPDATE`,
		c.row.ID, string(vigil.EventTriggered)).Scan(ctx, &pending)
	if err != nil {
		return nil, fmt.Errorf("read pending deliveries: %w", err)
	}
	return vigil.RecoveryRecipients(recipients, how, pending), nil
}

// KeepLatch stores which regions have been quiet since an incident was resolved
// manually. over ends the latch: the episode has ended.
func (s *Store) KeepLatch(ctx context.Context, id uuid.UUID, quiet []string, over bool) error {
	now := s.instant()
	_, err := s.db.NewRaw("UPDATE incidents SET quiet = ?, latched = latched AND NOT ?, swept_at = ?, sweep_wait_ms = 0 WHERE id = ?",
		pgdialect.Array(append([]string{}, quiet...)), over, now, id).Exec(ctx)
	return wrap("keep a latch", err)
}
