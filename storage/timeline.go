package storage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// Timeline returns the history of an incident of the organization, oldest first: edges
// of its regions, changes of its status, delivery attempts.
func (s *Store) Timeline(ctx context.Context, orgID, id uuid.UUID) ([]vigil.TimelineEntry, error) {
	incident, err := s.Incident(ctx, orgID, id)
	if err != nil {
		return nil, err
	}
	entries := statusChanges(&incident)
	edges, err := s.edges(ctx, &incident)
	if err != nil {
		return nil, wrap("read the edges", err)
	}
	attempts, err := s.attempts(ctx, id)
	if err != nil {
		return nil, wrap("read the attempts", err)
	}
	entries = append(append(edges, entries...), attempts...)
	slices.SortStableFunc(entries, func(a, b vigil.TimelineEntry) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Kind, b.Kind))
	})
	return entries, nil
}

func statusChanges(i *vigil.Incident) []vigil.TimelineEntry {
	entries := []vigil.TimelineEntry{{Time: i.CreatedAt, Kind: vigil.TimelineState, Event: vigil.EventTriggered}}
	if i.AcknowledgedAt != nil {
		entries = append(entries, vigil.TimelineEntry{
			Time: *i.AcknowledgedAt, Kind: vigil.TimelineState, Event: vigil.EventAcknowledged, By: i.AcknowledgedBy,
		})
	}
	if i.ResolvedAt != nil {
		entries = append(entries, vigil.TimelineEntry{
			Time: *i.ResolvedAt, Kind: vigil.TimelineState, Event: vigil.EventResolved, By: i.ResolvedBy,
		})
	}
	return entries
}

// edges returns the votes from the result that opened the incident to its end, each at
// its slot.
func (s *Store) edges(ctx context.Context, i *vigil.Incident) ([]vigil.TimelineEntry, error) {
	from := i.StartedAt
	if slot := i.Trigger.Result.Slot; !slot.IsZero() && slot.Before(from) {
		from = slot
	}
	var rows []struct {
		Slot     time.Time   `bun:"slot"`
		Region   string      `bun:"region"`
		Failures int         `bun:"failures"`
		Firing   []uuid.UUID `bun:"firing,array"`
	}
	err := s.db.NewRaw(`SELECT slot, region, failures, firing FROM region_edges
		WHERE check_id = ? AND slot >= ? AND slot <= coalesce(?, 'infinity'::timestamptz) ORDER BY slot, region`,
		i.CheckID, micro(from), i.ResolvedAt).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	entries := make([]vigil.TimelineEntry, len(rows))
	for n, row := range rows {
		entries[n] = vigil.TimelineEntry{
			Time: row.Slot.UTC(), Kind: vigil.TimelineEdge, Region: row.Region, Failures: row.Failures, Firing: row.Firing,
		}
	}
	return entries, nil
}

func (s *Store) attempts(ctx context.Context, incidentID uuid.UUID) ([]vigil.TimelineEntry, error) {
	var deliveries []deliveryRow
	if err := s.db.NewSelect().Model(&deliveries).Where("d.incident_id = ?", incidentID).Scan(ctx); err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]vigil.Delivery, len(deliveries))
	for i := range deliveries {
		byID[deliveries[i].ID] = deliveries[i].delivery()
	}
	var rows []attemptRow
	err := s.db.NewSelect().Model(&rows).Where("a.delivery_id IN (SELECT id FROM deliveries WHERE incident_id = ?)", incidentID).
		OrderExpr("a.started_at, a.number").Scan(ctx)
	if err != nil {
		return nil, err
	}
	entries := make([]vigil.TimelineEntry, len(rows))
	for i := range rows {
		delivery, attempt := byID[rows[i].DeliveryID], rows[i].attempt()
		entries[i] = vigil.TimelineEntry{Time: attempt.StartedAt, Kind: vigil.TimelineAttempt, Delivery: &delivery, Attempt: &attempt}
	}
	return entries, nil
}
