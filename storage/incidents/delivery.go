// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type deliveryRow struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`

	ID          uuid.UUID `bun:"id,pk,type:uuid"`
	OrgID       uuid.UUID `bun:"org_id,type:uuid"`
	EventID     uuid.UUID `bun:"event_id,type:uuid"`
	EventType   string    `bun:"event_type"`
	IncidentID  uuid.UUID `bun:"incident_id,type:uuid"`
	CheckID     uuid.UUID `bun:"check_id,type:uuid"`
	ChannelID   uuid.UUID `bun:"channel_id,type:uuid"`
	ChannelType string    `bun:"channel_type"`
	ChannelName string    `bun:"channel_name"`
	Status      string    `bun:"status"`
	// Policy is how the delivery is attempted, frozen when it was made.
	Policy        vigil.DeliveryPolicy `bun:"policy,type:jsonb"`
	Attempts      int                  `bun:"attempts"`
	Failures      int                  `bun:"failures"`
	NextAttemptAt *time.Time           `bun:"next_attempt_at"`
	Redeliver     bool                 `bun:"redeliver"`
	Merged        bool                 `bun:"merged"`
	Body          *string              `bun:"body"`
	// TraceID is that of the incident. Orphaned: the incident was deleted with its check.
	TraceID  string `bun:"trace_id"`
	Orphaned bool   `bun:"orphaned"`
	// Address counts the deliveries of a recovery to the addresses that its opening went to.
	Address int `bun:"address"`
	// Reference is what the receiver calls the message.
	Reference string `bun:"reference"`
	// FallbackFor is the delivery in whose place this one is.
	FallbackFor *vigil.FallbackFor `bun:"fallback_for,type:jsonb"`
	CreatedAt   time.Time          `bun:"created_at"`
	UpdatedAt   time.Time          `bun:"updated_at"`
	FinishedAt  *time.Time         `bun:"finished_at"`
	SweptAt     time.Time          `bun:"swept_at"`
	SweepWaitMS int64              `bun:"sweep_wait_ms"`
}

func (r *deliveryRow) delivery() vigil.Delivery {
	return vigil.Delivery{
		ID: r.ID, OrgID: r.OrgID, EventID: r.EventID, EventType: vigil.EventType(r.EventType),
		IncidentID: r.IncidentID, CheckID: r.CheckID,
		ChannelID: r.ChannelID, ChannelType: vigil.ChannelType(r.ChannelType), ChannelName: r.ChannelName,
		Status: vigil.DeliveryStatus(r.Status), Attempts: r.Attempts, Failures: r.Failures, NextAttemptAt: r.NextAttemptAt,
		Redeliver: r.Redeliver, Merged: r.Merged, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, FinishedAt: r.FinishedAt,
		Policy: r.Policy, FallbackFor: r.FallbackFor,
	}
}

func deliveriesOf(rows []deliveryRow) []vigil.Delivery {
	return pg.Map(rows, (*deliveryRow).delivery)
}

type attemptRow struct {
	bun.BaseModel `bun:"table:attempts,alias:a"`

	ID            uuid.UUID  `bun:"id,pk,type:uuid"`
	DeliveryID    uuid.UUID  `bun:"delivery_id,type:uuid"`
	ChannelID     uuid.UUID  `bun:"channel_id,type:uuid"`
	Number        int        `bun:"number"`
	StartedAt     time.Time  `bun:"started_at"`
	FinishedAt    *time.Time `bun:"finished_at"`
	DurationMS    int64      `bun:"duration_ms"`
	StatusCode    *int       `bun:"status_code"`
	ErrorCode     string     `bun:"error_code"`
	Error         string     `bun:"error"`
	ResponseBody  string     `bun:"response_body"`
	NextAttemptAt *time.Time `bun:"next_attempt_at"`
	Manual        bool       `bun:"manual"`
	Recipients    int        `bun:"recipients"`
	Reached       int        `bun:"reached"`
}

func (r *attemptRow) attempt() vigil.Attempt {
	a := vigil.Attempt{
		ID: r.ID, DeliveryID: r.DeliveryID, Number: r.Number, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		Duration: pg.FromMilliseconds(r.DurationMS), ErrorCode: r.ErrorCode, Error: r.Error, ResponseBody: r.ResponseBody,
		NextAttemptAt: r.NextAttemptAt, Manual: r.Manual, Recipients: r.Recipients, Reached: r.Reached,
	}
	if r.StatusCode != nil {
		a.StatusCode = *r.StatusCode
	}
	return a
}

func attemptsOf(rows []attemptRow) []vigil.Attempt {
	return pg.Map(rows, (*attemptRow).attempt)
}

// pendingDeliveries returns the channels with undelivered messages about an incident.
func pendingDeliveries(ctx context.Context, tx bun.Tx, checkName string, incidentID uuid.UUID) ([]vigil.PendingDelivery, error) {
	var rows []deliveryRow
	err := tx.NewSelect().Model(&rows).DistinctOn("channel_id").
		Column("incident_id", "channel_id", "org_id", "check_id", "channel_type", "channel_name").
		Where("d.incident_id = ? AND (d.status = 'pending' OR d.redeliver)", incidentID).OrderExpr("d.channel_id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the pending deliveries: %w", err)
	}
	list := make([]vigil.PendingDelivery, len(rows))
	for i := range rows {
		list[i] = rows[i].pendingDelivery(checkName)
	}
	return list, nil
}

func (r *deliveryRow) pendingDelivery(checkName string) vigil.PendingDelivery {
	return vigil.PendingDelivery{
		IncidentID: r.IncidentID, ChannelID: r.ChannelID, OrgID: r.OrgID, CheckID: r.CheckID,
		ChannelType: vigil.ChannelType(r.ChannelType), CheckName: checkName, ChannelName: r.ChannelName,
	}
}

// namedDeliveryRow is a delivery with the name of its check.
type namedDeliveryRow struct {
	deliveryRow `bun:",extend"`

	CheckName string `bun:"check_name"`
}

func pendingDeliveriesOf(rows []namedDeliveryRow) []vigil.PendingDelivery {
	list := make([]vigil.PendingDelivery, len(rows))
	for i := range rows {
		list[i] = rows[i].pendingDelivery(rows[i].CheckName)
	}
	return list
}

// firstDeliveries are those of an incident that opens.
func firstDeliveries(i *vigil.Incident, checkName string, to []vigil.Recipient) []vigil.PendingDelivery {
	list := make([]vigil.PendingDelivery, len(to))
	for n, r := range to {
		list[n] = vigil.PendingDelivery{
			IncidentID: i.ID, ChannelID: r.ChannelID, OrgID: i.OrgID, CheckID: i.CheckID,
			ChannelType: r.Type, CheckName: checkName, ChannelName: r.Name, First: true,
		}
	}
	return list
}

// Delivery finds a delivery of the organization.
func (s *Store) Delivery(ctx context.Context, orgID, id uuid.UUID) (vigil.Delivery, error) {
	var row deliveryRow
	err := s.db.NewSelect().Model(&row).Where("d.id = ? AND d.org_id = ?", id, orgID).Where(shownDelivery).Scan(ctx)
	if err != nil {
		return vigil.Delivery{}, pg.Found("delivery", err)
	}
	one := []vigil.Delivery{row.delivery()}
	if one[0].Recipients, err = s.deliveryRecipients(ctx, id); err != nil {
		return vigil.Delivery{}, err
	}
	err = s.addIncidentTitles(ctx, one)
	return one[0], err
}

// addIncidentTitles sets the titles of the incidents that deliveries are about.
func (s *Store) addIncidentTitles(ctx context.Context, deliveries []vigil.Delivery) error {
	ids, events := make([]uuid.UUID, len(deliveries)), []uuid.UUID{}
	for i := range deliveries {
		if ids[i] = deliveries[i].IncidentID; !deliveries[i].EventType.OfIncident() {
			events = append(events, deliveries[i].EventID)
		}
	}
	var rows []struct {
		ID    uuid.UUID `bun:"id,type:uuid"`
		Title string    `bun:"title"`
	}
	// Where there is no incident, the event has a title as long as it is kept.
	err := s.db.NewRaw(`SELECT id, title FROM incidents WHERE id = ANY(?0::uuid[])
		UNION ALL SELECT id, title FROM events WHERE id = ANY(?1::uuid[])`, pgdialect.Array(ids), pgdialect.Array(events)).Scan(ctx, &rows)
	if err != nil {
		return pg.Wrap("read the titles of incidents", err)
	}
	titles := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		titles[row.ID] = row.Title
	}
	for i := range deliveries {
		deliveries[i].IncidentTitle = cmp.Or(titles[deliveries[i].IncidentID], titles[deliveries[i].EventID])
	}
	return nil
}

// DeliveryMessage returns the message of a delivery of the organization. A message is kept
// as long as its event; after that it is a CodeNotFound error that says so.
func (s *Store) DeliveryMessage(ctx context.Context, orgID, id uuid.UUID) (vigil.DeliveryMessage, error) {
	delivery, err := s.Delivery(ctx, orgID, id)
	if err != nil {
		return vigil.DeliveryMessage{}, err
	}
	var row struct {
		Time    time.Time `bun:"time"`
		Title   string    `bun:"title"`
		Body    string    `bun:"body"`
		Payload string    `bun:"payload"`
	}
	err = s.db.NewRaw(`SELECT e.time, e.title, e.body, coalesce(d.body, e.envelope) AS payload
		FROM deliveries AS d JOIN events AS e ON e.id = d.event_id WHERE d.id = ?`, id).Scan(ctx, &row)
	if pg.IsNoRow(err) {
		return vigil.DeliveryMessage{}, vigil.Errorf(vigil.CodeNotFound, "The message of this delivery is no longer kept. "+
			"Messages are kept as long as the events of the alert stream.")
	}
	if err != nil {
		return vigil.DeliveryMessage{}, pg.Wrap("read the message", err)
	}
	return vigil.DeliveryMessage{
		EventID: delivery.EventID, EventType: delivery.EventType, Time: row.Time.UTC(),
		Title: row.Title, Body: row.Body, Payload: []byte(row.Payload),
	}, nil
}

// Deliveries lists an organization's deliveries, newest first, and counts all
// that the filter selects.
func (s *Store) Deliveries(ctx context.Context, orgID uuid.UUID, f listing.DeliveryFilter) ([]vigil.Delivery, listing.Extent, error) {
	where := func(query *bun.SelectQuery) *bun.SelectQuery {
		query = query.Where("d.org_id = ?", orgID).Where(shownDelivery)
		if f.IncidentID != uuid.Nil {
			query = query.Where("d.incident_id = ? AND "+ofIncident, f.IncidentID)
		}
		if f.UnobservedID != uuid.Nil {
			query = query.Where("d.incident_id = ? AND "+aboutUnobserved, f.UnobservedID)
		}
		if f.ChannelID != uuid.Nil {
			query = query.Where("d.channel_id = ?", f.ChannelID)
		}
		if f.Status != "" {
			query = query.Where("d.status = ?", string(f.Status))
		}
		return query
	}
	rows, extent, err := pg.SmallRows[deliveryRow]{
		What: "deliveries", Alias: "d", Order: pg.NewestFirst(), Selected: where, Without: []string{"body"},
		Position: func(r *deliveryRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}.Page(ctx, s.db, f.Page)
	if err != nil || len(rows) == 0 {
		return nil, extent, err
	}
	deliveries := deliveriesOf(rows)
	return deliveries, extent, s.addIncidentTitles(ctx, deliveries)
}

// Attempts lists the attempts of a delivery of the organization, newest first,
// and counts them all.
func (s *Store) Attempts(ctx context.Context, orgID, deliveryID uuid.UUID, page listing.Page) ([]vigil.Attempt, int, error) {
	delivery, err := s.Delivery(ctx, orgID, deliveryID)
	if err != nil {
		return nil, 0, err
	}
	trace := events.SubjectTrace(delivery.IncidentID)
	if delivery.EventType.OfIncident() {
		if trace, err = readTrace(ctx, s.db, delivery.IncidentID); err != nil {
			return nil, 0, pg.Wrap("list attempts", err)
		}
	}
	var rows []attemptRow
	total, err := s.db.NewSelect().Model(&rows).Where("a.delivery_id = ?", deliveryID).
		OrderExpr("a.number DESC").Limit(int64(page.Limit)).Offset(int64(page.Offset)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, pg.Wrap("list attempts", err)
	}
	attempts := attemptsOf(rows)
	for i := range attempts {
		attempts[i].TraceID = trace
	}
	return attempts, int(total), nil
}

// RequestRedelivery requests one more attempt of a delivery in any status. A second
// request before that attempt adds none. A channel that is disabled or gone, and
// an event that is no longer kept, are CodeConflict errors.
func (s *Store) RequestRedelivery(ctx context.Context, orgID, id uuid.UUID) (vigil.PendingDelivery, error) {
	var pending vigil.PendingDelivery
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var row deliveryRow
		err := tx.NewSelect().Model(&row).Where("d.id = ? AND d.org_id = ?", id, orgID).Where(shownDelivery).For("UPDATE").Scan(ctx)
		if err != nil {
			return pg.Found("delivery", err)
		}
		usable, err := channelUsable(ctx, tx, row.ChannelID)
		if err != nil {
			return err
		}
		if !usable {
			return vigil.Errorf(vigil.CodeConflict,
				"The channel of this delivery is disabled or deleted. Enable it before requesting another attempt.")
		}
		var kept bool
		err = tx.NewRaw("SELECT EXISTS (SELECT FROM events WHERE id = ?)", row.EventID).Scan(ctx, &kept)
		if err != nil {
			return fmt.Errorf("find the event: %w", err)
		}
		if !kept {
			return vigil.Errorf(vigil.CodeConflict, "The event of this delivery is not kept any more.")
		}
		_, err = tx.NewRaw("UPDATE deliveries SET redeliver = true, updated_at = ?, swept_at = ?, sweep_wait_ms = 0 WHERE id = ?",
			s.db.Instant(), s.db.Instant(), id).Exec(ctx)
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		var checkName string
		if err := tx.NewRaw("SELECT name FROM checks WHERE id = ?", row.CheckID).Scan(ctx, &checkName); err != nil && !pg.IsNoRow(err) {
			return fmt.Errorf("read the check: %w", err)
		}
		pending = row.pendingDelivery(checkName)
		return nil
	})
	return pending, pg.Wrap("request a redelivery", err)
}

// requestAgain requests a redelivery again whose process died before its outcome was stored, and perhaps before anything was
// sent. That of a recovery is left to it, and one that follows such an attempt is not repeated.
func requestAgain(ctx context.Context, tx bun.Tx, row *deliveryRow, attempt *vigil.Attempt) error {
	if !attempt.Manual || attempt.ErrorCode != vigil.AttemptUnknown || row.Redeliver {
		return nil
	}
	err := tx.NewRaw(`SELECT NOT EXISTS (SELECT FROM attempts WHERE delivery_id = ?0 AND number = ?1 - 1 AND manual AND error_code = ?2)
			AND NOT EXISTS (SELECT FROM recoveries AS r JOIN recovery_items AS i ON i.recovery_id = r.id AND i.state = 'requested'
				WHERE r.channel_id = ?3 AND r.state = 'running' AND i.delivery_id = ?0)`,
		row.ID, attempt.Number, vigil.AttemptUnknown, row.ChannelID).Scan(ctx, &row.Redeliver)
	return pg.Wrap("request a redelivery again", err)
}

// channelUsable reports whether messages go to a channel: it exists and is enabled. Others are canceled.
func channelUsable(ctx context.Context, tx bun.Tx, id uuid.UUID) (bool, error) {
	var usable bool
	err := tx.NewRaw("SELECT EXISTS (SELECT FROM channels WHERE id = ? AND enabled)", id).Scan(ctx, &usable)
	if err != nil {
		return false, fmt.Errorf("read the channel: %w", err)
	}
	return usable, nil
}
