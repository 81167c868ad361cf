// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// ClaimAttempt finds the next message for a channel about an incident, and stores
// the attempt before anything is sent. Deliveries that are no longer needed end
// without being sent. Without a free place the state is NextAttemptBusy, and the
// delivery waits in the order of arrival until another call admits it. Only one caller
// at a time may work on an incident and channel.
func (s *Store) ClaimAttempt(ctx context.Context, incidentID, channelID uuid.UUID) (vigil.NextAttempt, error) {
	var out vigil.NextAttempt
	leave, err := s.enterPlaces(ctx, "incident_id", incidentID)
	if err != nil {
		return out, pg.Wrap("claim an attempt", err)
	}
	defer leave()
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		box, err := s.lockOutbox(ctx, tx, incidentID, channelID)
		if err != nil {
			return err
		}
		if out.State = vigil.NextAttemptNone; len(box) == 0 {
			return nil
		}
		lost, err := s.unfinishedAttempt(ctx, tx, box)
		if err != nil {
			return err
		}
		if lost != nil {
			out.State, out.Attempt = vigil.NextAttemptUnknown, lost.attempt()
			out.Delivery = box[slices.IndexFunc(box, func(d deliveryRow) bool { return d.ID == lost.DeliveryID })].delivery()
			out.TraceID = box[0].TraceID
			return nil
		}
		out, err = s.decide(ctx, tx, box)
		return err
	})
	return out, pg.Wrap("claim an attempt", err)
}

// lockOutbox reads the deliveries of an incident to a channel, in the order of
// their events, also when the incident was deleted with its check. One without a policy
// gets that of its type.
func (s *Store) lockOutbox(ctx context.Context, tx bun.Tx, incidentID, channelID uuid.UUID) ([]deliveryRow, error) {
	rows, err := pg.Rows[deliveryRow](ctx, s.db.In(tx), "SELECT "+pg.ModelColumns[deliveryRow](s.db, "d")+` FROM deliveries AS d
		WHERE d.incident_id = $1 AND d.channel_id = $2 ORDER BY d.id FOR UPDATE`, incidentID, channelID)
	if err != nil {
		return nil, fmt.Errorf("lock the deliveries: %w", err)
	}
	slices.SortFunc(rows, func(a, b deliveryRow) int {
		return cmp.Or(cmp.Compare(eventOrder(a.EventType), eventOrder(b.EventType)), a.CreatedAt.Compare(b.CreatedAt),
			cmp.Compare(a.Address, b.Address))
	})
	if slices.ContainsFunc(rows, func(r deliveryRow) bool { return r.Redeliver }) {
		var kept bool
		if err := tx.NewRaw("SELECT ?0 = ?1 OR EXISTS (SELECT FROM checks WHERE id = ?0)", rows[0].CheckID, uuid.Nil).
			Scan(ctx, &kept); err != nil {
			return nil, fmt.Errorf("look for the check: %w", err)
		}
		for i := range rows { // those of a deleted check are not found any more, so none is repeated
			rows[i].Redeliver = rows[i].Redeliver && kept
		}
	}
	return rows, nil
}

// eventOrder ranks an event type: the opening comes before all others.
func eventOrder(eventType string) int {
	if vigil.EventType(eventType).Opens() {
		return 0
	}
	return 1
}

// unfinishedAttempt returns an attempt of the deliveries that has no outcome, nil
// if there is none.
func (s *Store) unfinishedAttempt(ctx context.Context, tx bun.Tx, box []deliveryRow) (*attemptRow, error) {
	ids := make([]string, len(box))
	for i := range box {
		ids[i] = box[i].ID.String()
	}
	rows, err := pg.Rows[attemptRow](ctx, s.db.In(tx), "SELECT "+pg.ModelColumns[attemptRow](s.db, "a")+` FROM attempts AS a
		WHERE a.delivery_id = ANY($1::text[]::uuid[]) AND a.finished_at IS NULL ORDER BY a.started_at LIMIT 1`, ids)
	if err != nil || len(rows) == 0 {
		return nil, pg.Wrap("look for unfinished attempts", err)
	}
	return &rows[0], nil
}

// decide carries out what vigil.DecideDelivery decides.
func (s *Store) decide(ctx context.Context, tx bun.Tx, box []deliveryRow) (vigil.NextAttempt, error) {
	now, head := s.db.Instant(), &box[0]
	ended, err := s.boxEnded(ctx, tx, box)
	if err != nil {
		return vigil.NextAttempt{}, err
	}
	usable, err := channelUsable(ctx, tx, head.ChannelID)
	if err != nil {
		return vigil.NextAttempt{}, err
	}
	decision := vigil.DecideDelivery(vigil.Outbox{
		Usable: usable, Ended: ended, Deliveries: deliveriesOf(box),
	})
	for _, end := range []struct {
		ids    []uuid.UUID
		status vigil.DeliveryStatus
	}{{decision.Supersede, vigil.DeliverySuperseded}, {decision.Cancel, vigil.DeliveryCanceled}} {
		if err := endUnsent(ctx, tx, end.ids, end.status, now); err != nil {
			return vigil.NextAttempt{}, err
		}
	}
	fallen, err := s.fallBackCanceled(ctx, tx, box, decision.Cancel, now)
	if err != nil {
		return vigil.NextAttempt{}, err
	}
	switch at := slices.IndexFunc(box, func(d deliveryRow) bool { return d.ID == decision.Attempt }); {
	case at < 0:
		admitted, err := s.freeUnused(ctx, tx, head, now)
		return vigil.NextAttempt{State: vigil.NextAttemptNone, Last: lastStatus(box, decision), Admitted: append(admitted, fallen...)}, err
	case !decision.Manual && decision.NotBefore.After(now):
		admitted, err := s.freeUnused(ctx, tx, head, now)
		return vigil.NextAttempt{State: vigil.NextAttemptLater, Until: decision.NotBefore, Admitted: admitted}, err
	default:
		return s.startAttempt(ctx, tx, box, at, decision, now)
	}
}

// boxEnded reports whether the incident of an outbox is resolved, or was deleted with its check.
// What is no incident has ended for a channel once there is its end to send.
func (s *Store) boxEnded(ctx context.Context, tx bun.Tx, box []deliveryRow) (bool, error) {
	if !vigil.EventType(box[0].EventType).OfIncident() {
		return slices.ContainsFunc(box, func(d deliveryRow) bool { return vigil.EventType(d.EventType).Ends() }), nil
	}
	rows, err := pg.Rows[Row](ctx, s.db.In(tx), "SELECT i.id, i.status FROM incidents AS i WHERE i.id = $1", box[0].IncidentID)
	if err != nil {
		return false, fmt.Errorf("read the incident: %w", err)
	}
	return len(rows) == 0 || rows[0].Status == string(vigil.IncidentResolved), nil
}

// readTrace returns the ID of the trace of an incident.
func readTrace(ctx context.Context, db bun.IDB, incidentID uuid.UUID) (id string, err error) {
	if err := db.NewRaw("SELECT "+incidentTrace+" FROM incidents AS i WHERE id = ?", incidentID).Scan(ctx, &id); err != nil {
		return "", pg.Found("incident", err)
	}
	return id, nil
}

// endUnsent ends deliveries that were not sent and must not be any more, as DecideDelivery has decided.
func endUnsent(ctx context.Context, tx bun.Tx, ids []uuid.UUID, status vigil.DeliveryStatus, now time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.NewRaw("UPDATE deliveries SET status = ?, next_attempt_at = NULL, finished_at = ?, updated_at = ? WHERE id = ANY(?)",
		string(status), now, now, pgdialect.Array(ids)).Exec(ctx)
	return pg.Wrap("end unsent deliveries", err)
}

// CancelDeliveries ends the deliveries of a check that have not arrived. Attempts in flight may
// arrive yet.
func (s *Store) CancelDeliveries(ctx context.Context, tx bun.Tx, checkID uuid.UUID) error {
	now := s.db.Instant()
	_, err := tx.NewRaw(`UPDATE deliveries SET status = 'canceled', redeliver = false, next_attempt_at = NULL,
			finished_at = ?0, updated_at = ?0
		WHERE status = 'pending' AND incident_id IN (SELECT id FROM incidents WHERE check_id = ?1)`, now, checkID).
		Exec(ctx)
	return pg.Wrap("end unsent deliveries", err)
}

// lastStatus is that of the last delivery of an outbox with nothing to send.
func lastStatus(box []deliveryRow, decision vigil.DeliveryDecision) vigil.DeliveryStatus {
	last := &box[len(box)-1]
	switch {
	case slices.Contains(decision.Supersede, last.ID):
		return vigil.DeliverySuperseded
	case slices.Contains(decision.Cancel, last.ID):
		return vigil.DeliveryCanceled
	}
	return vigil.DeliveryStatus(last.Status)
}

// startAttempt stores an attempt, unless there is no place for it.
func (s *Store) startAttempt(
	ctx context.Context, tx bun.Tx, box []deliveryRow, at int, decision vigil.DeliveryDecision, now time.Time,
) (vigil.NextAttempt, error) {
	row := &box[at]
	var event eventRow
	if err := tx.NewSelect().Model(&event).Where("e.id = ?", row.EventID).Scan(ctx); err != nil {
		return vigil.NextAttempt{}, pg.Found("event", err)
	}
	ok, admitted, err := s.takePlace(ctx, tx, row, now)
	if err != nil || !ok {
		return vigil.NextAttempt{State: vigil.NextAttemptBusy, Admitted: admitted}, err
	}
	if err := s.keepAddress(ctx, tx, row, now); err != nil {
		return vigil.NextAttempt{}, err
	}
	row.Attempts++
	attempt := attemptRow{
		ID: uuid.New(), DeliveryID: row.ID, ChannelID: row.ChannelID, Number: row.Attempts, StartedAt: now, Manual: decision.Manual,
	}
	if _, err := tx.NewInsert().Model(&attempt).Exec(ctx); err != nil {
		return vigil.NextAttempt{}, fmt.Errorf("store the attempt: %w", err)
	}
	_, err = tx.NewRaw(`UPDATE deliveries
		SET attempts = ?0, redeliver = redeliver AND NOT ?1, updated_at = ?2, swept_at = ?2, sweep_wait_ms = 0 WHERE id = ?3`,
		row.Attempts, decision.Manual, now, row.ID).
		Exec(ctx)
	if err != nil {
		return vigil.NextAttempt{}, fmt.Errorf("count the attempt: %w", err)
	}
	out := vigil.NextAttempt{
		State: vigil.NextAttemptReady, Delivery: row.delivery(), Attempt: attempt.attempt(), Merged: decision.Merged, Admitted: admitted,
		TraceID: row.TraceID, Previous: previousReference(box, row),
	}
	if row.Body != nil {
		out.Body = []byte(*row.Body)
	}
	if out.Event, err = event.event(); err != nil {
		return vigil.NextAttempt{}, err
	}
	out.Severity, err = severityAt(ctx, tx, box, &out.Event)
	return out, err
}

// severityAt is that of a message to a channel: what follows an opening has the severity of the opening that the channel
// got, which may be one of a rule that began later. A receiver that knows what it got by its severity as well
// finds it again.
func severityAt(ctx context.Context, tx bun.Tx, box []deliveryRow, event *vigil.Event) (vigil.Severity, error) {
	own := vigil.Severity(event.Variables["severity"])
	at := slices.IndexFunc(box, func(d deliveryRow) bool { return vigil.EventType(d.EventType).Opens() && d.Attempts > 0 })
	if at < 0 || event.Type.Opens() {
		return own, nil
	}
	opened := ""
	err := tx.NewRaw("SELECT coalesce(max(variables->>'severity'), '') FROM events WHERE id = ?", box[at].EventID).Scan(ctx, &opened)
	return cmp.Or(vigil.Severity(opened), own), pg.Wrap("read the severity of an opening", err)
}

// previousReference is what the receiver calls the opening that a delivery ends. It is empty where
// the end goes to several addresses: the reference is that of one of them.
func previousReference(box []deliveryRow, end *deliveryRow) string {
	if !vigil.EventType(end.EventType).Ends() || slices.ContainsFunc(box, func(d deliveryRow) bool { return d.Address > 0 }) {
		return ""
	}
	for i := range box {
		if vigil.EventType(box[i].EventType).Opens() && box[i].Status == string(vigil.DeliveryDelivered) {
			return box[i].Reference
		}
	}
	return ""
}

// FreezeBody stores the body that is sent in place of the event's envelope, and
// returns the one that every attempt of the delivery sends: the first stored.
// CodeNotFound: the delivery was deleted.
func (s *Store) FreezeBody(ctx context.Context, deliveryID uuid.UUID, body []byte) ([]byte, error) {
	var frozen string
	err := s.db.NewRaw("UPDATE deliveries SET body = coalesce(body, ?) WHERE id = ? RETURNING body", string(body), deliveryID).
		Scan(ctx, &frozen)
	return []byte(frozen), pg.Found("delivery", err)
}

// RecordOutcome stores the outcome of an attempt, updates its delivery and gives its
// place to a waiting one. An attempt that already has an outcome keeps it. CodeNotFound: the delivery was
// deleted.
func (s *Store) RecordOutcome(ctx context.Context, outcome vigil.AttemptOutcome) (vigil.Remaining, error) {
	var remaining vigil.Remaining
	leave, err := s.enterPlaces(ctx, "id", outcome.Attempt.DeliveryID)
	if err != nil {
		return remaining, pg.Wrap("record the outcome of an attempt", err)
	}
	defer leave()
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		row, err := pg.Row[deliveryRow](ctx, s.db.In(tx),
			"SELECT "+pg.ModelColumns[deliveryRow](s.db, "d")+" FROM deliveries AS d WHERE d.id = $1 FOR UPDATE", outcome.Attempt.DeliveryID)
		if err != nil {
			return pg.Found("delivery", err)
		}
		now := s.db.Instant()
		fresh, err := finishAttempt(ctx, tx, &outcome, now)
		if err != nil {
			return err
		}
		exhausted := false
		if fresh {
			exhausted = row.apply(&outcome, now)
			if err := requestAgain(ctx, tx, &row, &outcome.Attempt); err != nil {
				return err
			}
			if _, err := tx.NewUpdate().Model(&row).WherePK().
				Column("status", "failures", "next_attempt_at", "merged", "updated_at", "finished_at", "swept_at", "sweep_wait_ms", "reference",
					"redeliver").
				Exec(ctx); err != nil {
				return fmt.Errorf("store the delivery: %w", err)
			}
		}
		remaining = vigil.Remaining{Status: vigil.DeliveryStatus(row.Status), Failures: row.Failures}
		if err := s.readRemaining(ctx, tx, &row, &remaining); err != nil || !fresh {
			return err
		}
		then, err := s.follow(ctx, tx, &row, &outcome, exhausted, now)
		if err != nil {
			return err
		}
		if remaining.Admitted, err = s.freePlace(ctx, tx, &row, now); err != nil {
			return err
		}
		remaining.Admitted = append(remaining.Admitted, then.pending...)
		return s.publishAll(ctx, tx, then.events)
	})
	return remaining, pg.Wrap("record the outcome of an attempt", err)
}

// finishAttempt returns false when the attempt had an outcome already.
func finishAttempt(ctx context.Context, tx bun.Tx, outcome *vigil.AttemptOutcome, now time.Time) (bool, error) {
	a := &outcome.Attempt
	next := outcome.NextAttemptAt
	if a.Manual {
		next = nil
	}
	res, err := tx.NewRaw(`UPDATE attempts
		SET finished_at = ?now, duration_ms = ?duration_ms, status_code = ?status_code, error_code = ?error_code,
			error = ?error, response_body = ?response_body, next_attempt_at = ?next, recipients = ?recipients, reached = ?reached
		WHERE id = ?id AND finished_at IS NULL`,
		pg.Named{
			"now": now, "duration_ms": pg.Milliseconds(a.Duration), "status_code": vigil.NilIfZero(a.StatusCode), "error_code": a.ErrorCode,
			"error": vigil.CleanText(a.Error), "response_body": vigil.CleanText(a.ResponseBody), "next": next,
			"recipients": a.Recipients, "reached": a.Reached, "id": a.ID,
		}).
		Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("finish the attempt: %w", err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// apply updates a delivery by the outcome of an attempt, and reports whether it is given up. A
// redelivery counts only when it succeeds.
func (r *deliveryRow) apply(outcome *vigil.AttemptOutcome, now time.Time) (exhausted bool) {
	r.UpdatedAt, r.SweptAt, r.SweepWaitMS = now, now, 0
	switch {
	case outcome.Delivered:
		r.Status, r.NextAttemptAt, r.FinishedAt, r.Merged = string(vigil.DeliveryDelivered), nil, &now, outcome.Merged
		r.Reference = vigil.CleanText(outcome.Reference)
	case outcome.Attempt.Manual || r.Status != string(vigil.DeliveryPending):
	default:
		if !outcome.Progress {
			r.Failures++
		}
		if r.NextAttemptAt = outcome.NextAttemptAt; r.NextAttemptAt == nil {
			r.Status, r.FinishedAt = string(vigil.DeliveryExhausted), &now
			return true
		}
	}
	return false
}

// readRemaining reads what is left to deliver to the channel about the same incident.
func (s *Store) readRemaining(ctx context.Context, tx bun.Tx, row *deliveryRow, remaining *vigil.Remaining) error {
	left, err := pg.Rows[deliveryRow](ctx, s.db.In(tx), `SELECT d.id, d.redeliver, d.next_attempt_at FROM deliveries AS d
		WHERE d.incident_id = $1 AND d.channel_id = $2 AND (d.status = 'pending' OR d.redeliver)`, row.IncidentID, row.ChannelID)
	if err != nil {
		return fmt.Errorf("read what is left: %w", err)
	}
	remaining.Pending = len(left) > 0
	if len(left) == 1 && left[0].ID == row.ID && !left[0].Redeliver && left[0].NextAttemptAt != nil {
		remaining.Until = *left[0].NextAttemptAt
	}
	return nil
}
