// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

// deliveryMessageView is what a delivery sends.
type deliveryMessageView struct {
	EventID   uuid.UUID       `json:"event_id" format:"uuid" doc:"The id of the event: that of a webhook's body and of its webhook-id."`
	EventType vigil.EventType `json:"event_type" enum:"incident.triggered,incident.acknowledged,incident.updated,incident.resolved,check.unobserved,check.observed,channel.failing,channel.recovered,delivery.exhausted,region.blind,region.sighted,location.silent,location.back,drill.passed,drill.failed,check.paused,check.resumed,report.ready"`
	Time      time.Time       `json:"time" doc:"When the event happened."`
	Title     string          `json:"title" doc:"The title that a channel without a template sends."`
	Body      string          `json:"body" doc:"The text that a channel without a template sends."`
	Payload   json.RawMessage `json:"payload" doc:"The body that a webhook receives, the same on every attempt. Its data.message has the words of the channel's own template. One that is no JSON is shown as a text."`
}

func (d *deliveries) message(ctx context.Context, in *rest.IDPath) (*rest.Answer[deliveryMessageView], error) {
	id, err := in.Parse(resourceDelivery)
	if err != nil {
		return nil, err
	}
	m, err := d.store.DeliveryMessage(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	if !json.Valid(m.Payload) { // a form, or plain text
		if m.Payload, err = json.Marshal(string(m.Payload)); err != nil {
			return nil, err
		}
	}
	return rest.NewAnswer(deliveryMessageView{
		EventID: m.EventID, EventType: m.EventType, Time: m.Time, Title: m.Title, Body: m.Body, Payload: m.Payload,
	}), nil
}
