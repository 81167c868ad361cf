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
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// End is the end of an incident whose check is deleted: what PublishEnds stores.
type End struct {
	event vigil.Event
	to    []vigil.Recipient
}

// EndIncidents resolves the open incidents of checks that are about to be deleted in the same
// transaction. It locks the rows of the checks, so that no other incident opens. The events
// are made while the rules and the checks can still be read.
func (s *Store) EndIncidents(ctx context.Context, tx bun.Tx, edits []*vigil.CheckEdit) ([]End, error) {
	checks := EditedChecks(edits)
	if len(checks) == 0 {
		return nil, nil
	}
	_, err := tx.NewRaw("SELECT id FROM checks WHERE id = ANY(?) ORDER BY id FOR NO KEY UPDATE", pgdialect.Array(checks)).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock the checks: %w", err)
	}
	var ids []uuid.UUID
	err = tx.NewRaw("SELECT id FROM incidents WHERE check_id = ANY(?) AND status <> 'resolved' ORDER BY check_id", pgdialect.Array(checks)).
		Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("find the open incidents: %w", err)
	}
	ends := make([]End, len(ids))
	for i, id := range ids {
		if ends[i], err = s.endIncident(ctx, tx, id); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// endIncident resolves the incident of a check that is removed, with its rules. It returns the event of
// the end and who gets it, for PublishEnds: events come last in a transaction.
func (s *Store) endIncident(ctx context.Context, tx bun.Tx, id uuid.UUID) (end End, err error) {
	c := incidentChange{db: s, tx: tx}
	if err := selectTraced(tx, &c.row).Where("i.id = ?", id).For("UPDATE").Scan(ctx); err != nil {
		return end, pg.Found("incident", err)
	}
	if c.check, c.org, err = s.lockForIncident(ctx, tx, c.row.CheckID); err != nil {
		return end, err
	}
	now := s.db.Instant()
	c.row.Status, c.row.ResolvedAt, c.row.Resolution = string(vigil.IncidentResolved), &now, string(vigil.ResolvedCheckRemoved)
	c.row.SweptAt, c.row.SweepWaitMS = now, 0
	if err := c.endRules(ctx, &vigil.ResolveRequest{}, now); err != nil {
		return end, err
	}
	if err := c.store(ctx); err != nil {
		return end, err
	}
	if end.to, err = c.recoveryRecipients(ctx); err != nil {
		return end, err
	}
	end.event, err = c.event(ctx, events.Content{Type: vigil.EventResolved, Regions: c.row.Regions, CheckDeleted: true})
	return end, err
}

// PublishEnds stores the events of ends with their deliveries, and adds these to the edits
// of their checks. Like publish, it must come last in a transaction.
func (s *Store) PublishEnds(ctx context.Context, tx bun.Tx, ends []End, edits []*vigil.CheckEdit) error {
	for _, end := range ends {
		if err := s.publish(ctx, tx, end.event, end.to); err != nil {
			return err
		}
		pending, err := pendingDeliveries(ctx, tx, end.event.Variables["check_name"], end.event.IncidentID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(edits, func(e *vigil.CheckEdit) bool { return e.Before.ID == end.event.CheckID })
		edits[at].Deliveries = pending
	}
	return nil
}

// EditedChecks returns the ids of the checks of edits, in their order.
func EditedChecks(edits []*vigil.CheckEdit) []uuid.UUID {
	ids := make([]uuid.UUID, len(edits))
	for i, edit := range edits {
		ids[i] = edit.Before.ID
	}
	return ids
}
