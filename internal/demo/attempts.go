// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// showAttempts shows the attempts of the present incident that have ended since.
func (d *Demo) showAttempts(ctx context.Context) error {
	now := d.state.get().Story
	if now.Incident == uuid.Nil || now.Phase == phaseDone {
		return nil
	}
	deliveries, err := d.deliveriesOf(ctx, now.Incident)
	if err != nil {
		return err
	}
	for i := range deliveries {
		delivery := &deliveries[i]
		if delivery.Attempts <= now.Shown[delivery.Id] {
			continue
		}
		attempts, err := read[[]client.Attempt](d.api.ListDeliveryAttempts(ctx, delivery.Id, nil))
		if err != nil {
			return err
		}
		for _, attempt := range attempts {
			if attempt.Number <= now.Shown[delivery.Id] || attempt.FinishedAt == nil {
				continue
			}
			if err := d.showAttempt(delivery, &attempt); err != nil {
				return err
			}
		}
	}
	return nil
}

// showAttempt shows an attempt, with what the receiver saw of it.
func (d *Demo) showAttempt(delivery *client.Delivery, attempt *client.Attempt) error {
	err := d.state.change(func(s *state) {
		shown := maps.Clone(s.Story.Shown)
		if shown == nil {
			shown = make(map[uuid.UUID]int64)
		}
		shown[delivery.Id] = max(shown[delivery.Id], attempt.Number)
		s.Story.Shown = shown
	})
	if err != nil {
		return err
	}
	event := Event{
		Kind: KindAttempt, CheckID: &d.checkID, IncidentID: delivery.IncidentId, DeliveryID: &delivery.Id,
		MessageType: string(delivery.EventType), Attempt: attempt.Number, Delivered: &attempt.Delivered, Status: attempt.StatusCode,
	}
	if delivery.RunUrl != nil {
		event.URL = *delivery.RunUrl
	}
	text := []string{fmt.Sprintf("%s, attempt %d: ", strings.TrimPrefix(event.MessageType, "incident."), attempt.Number)}
	received, first := d.received(delivery.Id, attempt.Number)
	if received != nil {
		event.SignatureValid = &received.Valid
		if id, err := uuid.Parse(received.ID); err == nil {
			event.MessageID = &id
		}
	}
	switch {
	case attempt.Delivered:
		text = append(text, fmt.Sprintf("delivered with %d", value(attempt.StatusCode)))
		text = append(text, describeReceived(received, first)...)
	case attempt.StatusCode != nil:
		text = append(text, fmt.Sprintf("refused with %d%s", *attempt.StatusCode, again(attempt)))
	default:
		text = append(text, value(attempt.Error)+again(attempt))
	}
	event.Text = text[0] + strings.Join(text[1:], ", ")
	d.emit(event)
	return nil
}

// describeReceived says what the receiver saw of a delivered message. first is that of the
// first attempt.
func describeReceived(received, first *message) []string {
	if received == nil {
		return []string{"which the receiver has not seen"}
	}
	said := []string{"signature valid"}
	if !received.Valid {
		said[0] = "signature wrong"
	}
	if first != nil && first.Attempt < received.Attempt {
		if first.ID == received.ID {
			return append(said, fmt.Sprintf("same id as attempt %d", first.Attempt))
		}
		return append(said, fmt.Sprintf("another id than attempt %d", first.Attempt))
	}
	return said
}

// again says when the next attempt is.
func again(attempt *client.Attempt) string {
	if attempt.NextAttemptAt == nil || attempt.FinishedAt == nil {
		return ""
	}
	return fmt.Sprintf("; again in %s", max(0, attempt.NextAttemptAt.Sub(*attempt.FinishedAt)).Round(time.Second))
}

// received returns what the receiver got in an attempt, and in the first one of the
// delivery that it got; nil: nothing.
func (d *Demo) received(delivery uuid.UUID, attempt int64) (got, first *message) {
	for _, one := range d.state.get().Messages {
		if one.Delivery != delivery.String() {
			continue
		}
		if first == nil {
			first = &one
		}
		if one.Attempt == attempt {
			got = &one
		}
	}
	return got, first
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
