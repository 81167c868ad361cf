package storage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"vigil"
)

// Incident finds an incident of the organization.
func (s *Store) Incident(ctx context.Context, orgID, id uuid.UUID) (vigil.Incident, error) {
	var row incidentRow
	err := s.db.NewSelect().Model(&row).Where("i.id = ? AND i.org_id = ?", id, orgID).Scan(ctx)
	if err != nil {
		return vigil.Incident{}, found("incident", err)
	}
	incident, err := row.incident()
	return incident, wrap("read incident", err)
}

// Incidents lists an organization's incidents, newest first, and counts all that
// the filter selects.
func (s *Store) Incidents(ctx context.Context, orgID uuid.UUID, f vigil.IncidentFilter) ([]vigil.Incident, int, error) {
	var rows []incidentRow
	query := s.db.NewSelect().Model(&rows).Where("i.org_id = ?", orgID)
	if f.Status != "" {
		query = query.Where("i.status = ?", string(f.Status))
	}
	if f.CheckID != uuid.Nil {
		query = query.Where("i.check_id = ?", f.CheckID)
	}
	if f.RuleID != uuid.Nil {
		query = query.Where("i.rule_id = ?", f.RuleID)
	}
	total, err := query.OrderExpr("i.created_at DESC, i.id DESC").Limit(int64(f.Limit)).Offset(int64(f.Offset)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, wrap("list incidents", err)
	}
	incidents := make([]vigil.Incident, len(rows))
	for i := range rows {
		if incidents[i], err = rows[i].incident(); err != nil {
			return nil, 0, wrap("list incidents", err)
		}
	}
	return incidents, int(total), nil
}

// Timeline returns everything that happened in an incident of the organization,
// oldest first: edges of its regions, changes of its state, delivery attempts.
func (s *Store) Timeline(ctx context.Context, orgID, id uuid.UUID) ([]vigil.TimelineEntry, error) {
	incident, err := s.Incident(ctx, orgID, id)
	if err != nil {
		return nil, err
	}
	moments := states(&incident)
	edges, err := s.edges(ctx, &incident)
	if err != nil {
		return nil, wrap("read the edges", err)
	}
	tries, err := s.tries(ctx, id)
	if err != nil {
		return nil, wrap("read the attempts", err)
	}
	moments = append(append(edges, moments...), tries...)
	slices.SortStableFunc(moments, func(a, b vigil.TimelineEntry) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Kind, b.Kind))
	})
	return moments, nil
}

func states(i *vigil.Incident) []vigil.TimelineEntry {
	moments := []vigil.TimelineEntry{{Time: i.CreatedAt, Kind: vigil.TimelineState, Event: vigil.EventTriggered}}
	if i.AcknowledgedAt != nil {
		moments = append(moments, vigil.TimelineEntry{Time: *i.AcknowledgedAt, Kind: vigil.TimelineState, Event: vigil.EventAcknowledged, By: i.AcknowledgedBy})
	}
	if i.ResolvedAt != nil {
		moments = append(moments, vigil.TimelineEntry{Time: *i.ResolvedAt, Kind: vigil.TimelineState, Event: vigil.EventResolved, By: i.ResolvedBy})
	}
	return moments
}

// edges returns the votes of an incident's episode, each at the instant of its
// result. The result that opened the incident is the first.
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
	err := s.db.NewRaw("SELECT slot, region, failures, firing FROM region_edges WHERE check_id = ? AND slot >= ? AND slot <= coalesce(?, 'infinity'::timestamptz) ORDER BY slot, region",
		i.CheckID, micro(from), i.ResolvedAt).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	moments := make([]vigil.TimelineEntry, len(rows))
	for n, row := range rows {
		moments[n] = vigil.TimelineEntry{Time: row.Slot.UTC(), Kind: vigil.TimelineEdge, Region: row.Region, Failures: row.Failures, Firing: row.Firing}
	}
	return moments, nil
}

func (s *Store) tries(ctx context.Context, incidentID uuid.UUID) ([]vigil.TimelineEntry, error) {
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
	moments := make([]vigil.TimelineEntry, len(rows))
	for i := range rows {
		delivery, attempt := byID[rows[i].DeliveryID], rows[i].attempt()
		moments[i] = vigil.TimelineEntry{Time: attempt.StartedAt, Kind: vigil.TimelineAttempt, Delivery: &delivery, Attempt: &attempt}
	}
	return moments, nil
}

// The waits between two repairs of the same incident or delivery: the first one,
// doubling to the longest. Progress ends the wait.
const (
	firstSweepWait   = 30 * time.Second
	longestSweepWait = 10 * time.Minute
)

// sweepable is true for a row whose wait since its progress or last repair is
// over.
const sweepable = "swept_at + greatest(sweep_wait_ms, ?) * interval '1 millisecond' <= ?"

// StalledIncidents returns the checks of incidents that are open or latched and
// have made no progress for 30 s, nor been repaired within their wait. Most of
// them are fine: there is nothing to see of one that only waits.
func (s *Store) StalledIncidents(ctx context.Context, now time.Time, limit int) ([]vigil.Incident, error) {
	var rows []incidentRow
	err := s.db.NewSelect().Model(&rows).Where("(i.status <> 'resolved' OR i.latched) AND "+sweepable, milliseconds(firstSweepWait), micro(now)).
		OrderExpr("i.swept_at").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, wrap("find stalled incidents", err)
	}
	incidents := make([]vigil.Incident, len(rows))
	for i := range rows {
		if incidents[i], err = rows[i].incident(); err != nil {
			return nil, wrap("find stalled incidents", err)
		}
	}
	return incidents, nil
}

// MarkIncidentSwept notes a repair and doubles the wait before the next.
func (s *Store) MarkIncidentSwept(ctx context.Context, id uuid.UUID, at time.Time) error {
	return s.markSwept(ctx, "incidents", "id = ?", at, id)
}

// StalledDeliveries returns deliveries that are due, or requested again, have made
// no progress for 30 s, and were not repaired within their wait.
func (s *Store) StalledDeliveries(ctx context.Context, now time.Time, limit int) ([]vigil.PendingDelivery, error) {
	var rows []struct {
		deliveryRow `bun:",extend"`

		CheckName string `bun:"check_name"`
	}
	err := s.db.NewRaw(`SELECT d.*, c.name AS check_name FROM deliveries AS d JOIN checks AS c ON c.id = d.check_id
		WHERE (d.status = 'pending' OR d.redeliver) AND `+sweepable+`
			AND (d.redeliver OR coalesce(d.next_attempt_at, d.created_at) + ? * interval '1 millisecond' <= ?)
			AND NOT EXISTS (SELECT FROM deliveries AS e WHERE e.incident_id = d.incident_id AND e.channel_id = d.channel_id
				AND e.status = 'pending' AND e.created_at < d.created_at AND NOT d.redeliver)
		ORDER BY d.swept_at LIMIT ?`,
		milliseconds(firstSweepWait), micro(now), milliseconds(firstSweepWait), micro(now), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, wrap("find stalled deliveries", err)
	}
	pending := make([]vigil.PendingDelivery, len(rows))
	for i := range rows {
		pending[i] = rows[i].pendingDelivery(rows[i].CheckName)
	}
	return pending, nil
}

// MarkDeliverySwept records a repair and doubles the wait before the next.
func (s *Store) MarkDeliverySwept(ctx context.Context, d vigil.PendingDelivery, at time.Time) error {
	return s.markSwept(ctx, "deliveries", "incident_id = ? AND channel_id = ?", at, d.IncidentID, d.ChannelID)
}

func (s *Store) markSwept(ctx context.Context, table, which string, at time.Time, ids ...any) error {
	args := append([]any{bun.Ident(table), micro(at), milliseconds(firstSweepWait), milliseconds(longestSweepWait)}, ids...)
	_, err := s.db.NewRaw("UPDATE ? SET swept_at = ?, sweep_wait_ms = least(greatest(sweep_wait_ms * 2, ?), ?) WHERE "+which, args...).Exec(ctx)
	return wrap("note a repair", err)
}
