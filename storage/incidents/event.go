// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// EventChannel is the name under which Postgres notifies of new events; the
// payload is the organization's id.
const EventChannel = "vigil_events"

type eventRow struct {
	bun.BaseModel `bun:"table:events,alias:e"`

	OrgID      uuid.UUID       `bun:"org_id,type:uuid"`
	MS         int64           `bun:"ms"`
	Seq        int64           `bun:"seq"`
	ID         uuid.UUID       `bun:"id,type:uuid"`
	Type       string          `bun:"type"`
	IncidentID uuid.UUID       `bun:"incident_id,type:uuid"`
	CheckID    uuid.UUID       `bun:"check_id,type:uuid"`
	Time       time.Time       `bun:"time"`
	Envelope   string          `bun:"envelope"`
	Title      string          `bun:"title"`
	Body       string          `bun:"body"`
	Variables  json.RawMessage `bun:"variables,type:jsonb"`
}

func (r *eventRow) event() (vigil.Event, error) {
	e := vigil.Event{
		ID: r.ID, OrgID: r.OrgID, Position: vigil.Position{MS: r.MS, Seq: r.Seq}, Type: vigil.EventType(r.Type),
		IncidentID: r.IncidentID, CheckID: r.CheckID, Time: r.Time.UTC(),
		Envelope: []byte(r.Envelope), Title: r.Title, Body: r.Body,
	}
	if err := json.Unmarshal(r.Variables, &e.Variables); err != nil {
		return vigil.Event{}, fmt.Errorf("decode the variables of event %s: %w", r.ID, err)
	}
	return e, nil
}

// publish stores an event and its deliveries. It must be the last statement of a
// transaction: from here on it locks the organization's stream, so that the order
// of positions is the order of commits and no reader sees an event before an
// earlier one.
func (s *Store) publish(ctx context.Context, tx bun.Tx, e vigil.Event, to []vigil.Recipient) error {
	if err := s.insertDeliveries(ctx, tx, &e, to); err != nil {
		return err
	}
	variables, err := json.Marshal(e.Variables)
	if err != nil {
		return fmt.Errorf("encode the variables: %w", err)
	}
	_, err = tx.NewRaw(`WITH head AS (
			INSERT INTO stream_heads AS h (org_id, ms, seq) VALUES (?org, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, 1)
			ON CONFLICT (org_id) DO UPDATE SET ms = greatest(h.ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), seq = h.seq + 1
			RETURNING ms, seq
		), stored AS (
			INSERT INTO events (org_id, ms, seq, id, type, incident_id, check_id, time, envelope, title, body, variables)
			SELECT ?org, ms, seq, ?id, ?type, ?incident, ?check, ?time, ?envelope, ?title, ?body, ?variables::jsonb FROM head RETURNING org_id
		)
		SELECT pg_notify(?wakes, org_id::text) FROM stored`,
		pg.Named{
			"org": e.OrgID, "id": e.ID, "type": string(e.Type), "incident": e.IncidentID, "check": e.CheckID, "time": pg.Micro(e.Time),
			"envelope": string(e.Envelope), "title": vigil.CleanText(e.Title), "body": vigil.CleanText(e.Body),
			"variables": string(variables), "wakes": EventChannel,
		}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the event: %w", err)
	}
	return nil
}

// insertDeliveries stores the deliveries of an event, each once: one for each channel, or
// for each of its addresses that the opening went to. Those that got the opening in the place of
// another channel get the end with it.
func (s *Store) insertDeliveries(ctx context.Context, tx bun.Tx, e *vigil.Event, to []vigil.Recipient) error {
	to, err := withFallbacks(ctx, tx, e, to)
	if err != nil || len(to) == 0 {
		return err
	}
	addresses, err := openingAddresses(ctx, tx, e, to)
	if err != nil {
		return err
	}
	at := pg.Micro(e.Time)
	swept := at
	if e.Type.System() { // those who publish it start no workflow: the sweep does, without the wait for one that may be lost
		swept = time.Unix(0, 0)
	}
	var rows []deliveryRow
	for i, r := range to {
		for n := range max(1, len(addresses[r.ChannelID])) {
			rows = append(rows, deliveryRow{
				ID: vigil.AddressedDeliveryID(e.ID, r.ChannelID, n), OrgID: e.OrgID, EventID: e.ID, EventType: string(e.Type),
				IncidentID: e.IncidentID, CheckID: e.CheckID, ChannelID: r.ChannelID, ChannelType: string(r.Type), ChannelName: r.Name,
				Policy: to[i].Policy, TraceID: e.TraceID, Address: n, FallbackFor: r.FallbackFor,
				Status: string(vigil.DeliveryPending), CreatedAt: at, UpdatedAt: at, SweptAt: swept,
			})
		}
	}
	if _, err := tx.NewInsert().Model(&rows).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("insert deliveries: %w", err)
	}
	for channel, list := range addresses {
		for n := range list {
			_, err := tx.NewRaw("UPDATE delivery_addresses SET delivery_id = ? WHERE id = ?",
				vigil.AddressedDeliveryID(e.ID, channel, n), list[n].ID).Exec(ctx)
			if err != nil {
				return fmt.Errorf("move an address to the recovery: %w", err)
			}
		}
	}
	return nil
}

// EventsAfter returns up to limit events of an organization after a position that
// are no older than since, in order.
func (s *Store) EventsAfter(ctx context.Context, orgID uuid.UUID, after vigil.Position, since time.Time, limit int) ([]vigil.Event, error) {
	var rows []eventRow
	err := s.db.NewSelect().Model(&rows).
		Where("e.org_id = ? AND (e.ms, e.seq) > (?, ?) AND e.ms >= ?", orgID, after.MS, after.Seq, since.UnixMilli()).
		OrderExpr("e.ms, e.seq").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read events", err)
	}
	events, err := pg.TryMap(rows, (*eventRow).event)
	return events, pg.Wrap("read events", err)
}

// StreamBounds returns the position of the newest event of an organization, and
// that of the oldest no older than since. Both are zero when there is none; the
// newest is kept forever.
func (s *Store) StreamBounds(ctx context.Context, orgID uuid.UUID, since time.Time) (oldest, newest vigil.Position, err error) {
	err = s.db.NewRaw("SELECT ms, seq FROM stream_heads WHERE org_id = ?", orgID).Scan(ctx, &newest.MS, &newest.Seq)
	if pg.IsNoRow(err) {
		return oldest, newest, nil
	}
	if err != nil {
		return oldest, newest, pg.Wrap("read the stream's head", err)
	}
	err = s.db.NewRaw("SELECT ms, seq FROM events WHERE org_id = ? AND ms >= ? ORDER BY ms, seq LIMIT 1", orgID, since.UnixMilli()).
		Scan(ctx, &oldest.MS, &oldest.Seq)
	if pg.IsNoRow(err) {
		err = nil
	}
	return oldest, newest, pg.Wrap("read the stream's beginning", err)
}
