// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// timelineRow is an entry of a timeline: an edge, a change of status by its number, or
// an attempt by its id.
type timelineRow struct {
	Kind     int         `bun:"kind"`
	Time     time.Time   `bun:"time"`
	Region   string      `bun:"region"`
	Number   int         `bun:"number"`
	Failures int         `bun:"failures"`
	Firing   []uuid.UUID `bun:"firing,array"`
	ID       uuid.UUID   `bun:"id,type:uuid"`
}

// Kinds of a timelineRow. Entries of one instant have this order.
const (
	rowAttempt = iota
	rowEdge
	rowState
)

// timelineRows is an SQL query for the entries of an incident: its votes from ?from to
// ?until, the votes before that still stood then and so were a part of it, the changes of its status at ?states, and its attempts.
const timelineRows = `
	SELECT ?edge AS kind, slot AS time, region, revision AS number, failures, firing, NULL::uuid AS id FROM region_edges
		WHERE check_id = ?check AND slot >= ?from AND slot <= coalesce(?until, 'infinity'::timestamptz)
	UNION ALL
	SELECT ?edge, slot, region, revision, failures, firing, NULL FROM (
		SELECT DISTINCT ON (region) * FROM (
			SELECT * FROM region_edges WHERE check_id = ?check AND slot < ?from ORDER BY slot DESC LIMIT ?look
		) AS newest ORDER BY region, slot DESC, revision DESC
	) AS standing WHERE cardinality(firing) > 0
	UNION ALL
	SELECT ?state, at, '', n, 0, '{}', NULL FROM unnest(?states::timestamptz[]) WITH ORDINALITY AS s (at, n)
	UNION ALL
	SELECT ?attempt, a.started_at, '', a.number, 0, '{}', a.id FROM deliveries AS d JOIN attempts AS a ON a.delivery_id = d.id
		WHERE d.incident_id = ?incident`

// timelineQuery are the named arguments of timelineRows and of the page.
type timelineQuery struct {
	Edge     int
	State    int
	Attempt  int
	Check    uuid.UUID
	Incident uuid.UUID
	From     time.Time
	Until    *time.Time
	States   any
	Look     int
	Limit    int
	Offset   int
}

// standingVotes is how many votes before an incident are searched for those that still
// stand when it opens.
const standingVotes = 200

// Timeline returns one page of the history of an incident of the organization, oldest
// first, and the number of all entries: edges of its regions, changes of its status,
// delivery attempts.
func (s *Store) Timeline(ctx context.Context, orgID, id uuid.UUID, page listing.Page) ([]vigil.TimelineEntry, int, error) {
	incident, err := s.Incident(ctx, orgID, id)
	if err != nil {
		return nil, 0, err
	}
	states := statusChanges(&incident)
	query := timelineQuery{
		Edge: rowEdge, State: rowState, Attempt: rowAttempt, Check: incident.CheckID, Incident: id,
		From: pg.Micro(firstSlot(&incident)), Until: incident.ResolvedAt, Look: standingVotes, Limit: page.Limit, Offset: page.Offset,
	}
	times := make([]time.Time, len(states))
	for i := range states {
		times[i] = states[i].Time
	}
	query.States = pgdialect.Array(times)
	var total int
	if err := s.db.NewRaw("SELECT count(*) FROM ("+timelineRows+") AS e", query).Scan(ctx, &total); err != nil {
		return nil, 0, pg.Wrap("count the timeline", err)
	}
	var rows []timelineRow
	err = s.db.NewRaw("SELECT * FROM ("+timelineRows+") AS e ORDER BY time, kind, region, number, id LIMIT ?limit OFFSET ?offset", query).
		Scan(ctx, &rows)
	if err != nil {
		return nil, 0, pg.Wrap("read the timeline", err)
	}
	entries, err := s.timelineEntries(ctx, rows, states)
	for i := range entries {
		if attempt := entries[i].Attempt; attempt != nil {
			attempt.TraceID = incident.TraceID
		}
	}
	return entries, total, pg.Wrap("read the timeline", err)
}

// firstSlot is where the edges of an incident begin: at the result that opened it.
func firstSlot(i *vigil.Incident) time.Time {
	if slot := i.Trigger.Result.Slot; !slot.IsZero() && slot.Before(i.StartedAt) {
		return slot
	}
	return i.StartedAt
}

// statusChanges returns the changes of state that the row of the incident itself has.
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

// timelineEntries returns the entries of rows. An attempt that was deleted meanwhile is
// left out.
func (s *Store) timelineEntries(ctx context.Context, rows []timelineRow, states []vigil.TimelineEntry) ([]vigil.TimelineEntry, error) {
	var ids []uuid.UUID
	for _, row := range rows {
		if row.Kind == rowAttempt {
			ids = append(ids, row.ID)
		}
	}
	attempts, err := s.attemptEntries(ctx, ids)
	if err != nil {
		return nil, err
	}
	entries := make([]vigil.TimelineEntry, 0, len(rows))
	for _, row := range rows {
		switch row.Kind {
		case rowEdge:
			entries = append(entries, vigil.TimelineEntry{
				Time: row.Time.UTC(), Kind: vigil.TimelineEdge, Region: row.Region, Failures: row.Failures, Firing: row.Firing,
			})
		case rowState:
			entries = append(entries, states[row.Number-1])
		case rowAttempt:
			if entry, ok := attempts[row.ID]; ok {
				entries = append(entries, entry)
			}
		}
	}
	return entries, nil
}

// attemptEntries reads attempts with their deliveries.
func (s *Store) attemptEntries(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]vigil.TimelineEntry, error) {
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // no attempts
	}
	var rows []attemptRow
	if err := s.db.NewSelect().Model(&rows).Where("a.id = ANY(?)", pgdialect.Array(ids)).Scan(ctx); err != nil {
		return nil, err
	}
	var deliveries []deliveryRow
	err := s.db.NewSelect().Model(&deliveries).ExcludeColumn("body").
		Where("d.id IN (SELECT delivery_id FROM attempts WHERE id = ANY(?))", pgdialect.Array(ids)).Scan(ctx)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]vigil.Delivery, len(deliveries))
	for i := range deliveries {
		byID[deliveries[i].ID] = deliveries[i].delivery()
	}
	entries := make(map[uuid.UUID]vigil.TimelineEntry, len(rows))
	for i := range rows {
		delivery, attempt := byID[rows[i].DeliveryID], rows[i].attempt()
		entries[attempt.ID] = vigil.TimelineEntry{
			Time: attempt.StartedAt, Kind: vigil.TimelineAttempt, Delivery: &delivery, Attempt: &attempt,
		}
	}
	return entries, nil
}
