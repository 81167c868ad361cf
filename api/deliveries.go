package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const (
	tagDeliveries    = "Deliveries"
	resourceDelivery = "delivery"
)

// deliveryView is one event on its way to one channel.
type deliveryView struct {
	ID            uuid.UUID            `json:"id" format:"uuid"`
	EventID       uuid.UUID            `json:"event_id" format:"uuid" doc:"The id of the event: that of a webhook's body and of its webhook-id."`
	EventType     vigil.EventType      `json:"event_type" enum:"incident.triggered,incident.resolved"`
	IncidentID    uuid.UUID            `json:"incident_id" format:"uuid"`
	CheckID       uuid.UUID            `json:"check_id" format:"uuid"`
	ChannelID     uuid.UUID            `json:"channel_id" format:"uuid"`
	ChannelType   vigil.ChannelType    `json:"channel_type" example:"webhook"`
	ChannelName   string               `json:"channel_name" doc:"The name that the channel had when the delivery was made."`
	Status        vigil.DeliveryStatus `json:"status" enum:"pending,delivered,exhausted,superseded,canceled" doc:"pending: not told yet. delivered: told. exhausted: every attempt failed. superseded: the incident ended before it was told. canceled: the channel or the check was removed."`
	Attempts      int                  `json:"attempts" minimum:"0" doc:"How many attempts were made."`
	NextAttemptAt *time.Time           `json:"next_attempt_at" doc:"When the next attempt is due; null when none is, or when it is due as soon as it can be made."`
	Redelivering  bool                 `json:"redelivering" doc:"Another attempt was asked for and is not made yet."`
	Merged        bool                 `json:"merged" doc:"One message said that it was down and has recovered."`
	CreatedAt     time.Time            `json:"created_at"`
	UpdatedAt     time.Time            `json:"updated_at"`
	FinishedAt    *time.Time           `json:"finished_at" doc:"When it ended; null while it is pending."`
	WorkflowID    string               `json:"workflow_id" doc:"The workflow that delivers it."`
	RunURL        *string              `json:"run_url" doc:"The workflow in the Temporal UI; null where there is no UI."`
}

func (s *Server) showDelivery(d vigil.Delivery) deliveryView {
	workflow := vigil.DeliveryWorkflowID(d.IncidentID, d.ChannelID)
	return deliveryView{
		ID: d.ID, EventID: d.EventID, EventType: d.EventType, IncidentID: d.IncidentID, CheckID: d.CheckID,
		ChannelID: d.ChannelID, ChannelType: d.ChannelType, ChannelName: d.ChannelName, Status: d.Status, Attempts: d.Attempts,
		NextAttemptAt: inUTC(d.NextAttemptAt), Redelivering: d.Redeliver, Merged: d.Merged,
		CreatedAt: d.CreatedAt.UTC(), UpdatedAt: d.UpdatedAt.UTC(), FinishedAt: inUTC(d.FinishedAt),
		WorkflowID: workflow, RunURL: s.workflowURL(workflow, ""),
	}
}

// attemptView is one try to deliver.
type attemptView struct {
	Number        int        `json:"number" minimum:"1"`
	StartedAt     time.Time  `json:"started_at"`
	FinishedAt    *time.Time `json:"finished_at" doc:"Null while it is under way."`
	DurationMS    int64      `json:"duration_ms" minimum:"0"`
	Delivered     bool       `json:"delivered" doc:"Whether the channel was told."`
	StatusCode    *int       `json:"status_code" doc:"Status of the answer; null when there was none."`
	ErrorCode     *string    `json:"error_code" doc:"Why it failed, for a program; unknown when nobody knows whether it arrived." example:"timeout"`
	Error         *string    `json:"error" doc:"Why it failed, for a person."`
	ResponseBody  *string    `json:"response_body" doc:"The first 4 KiB of the answer."`
	NextAttemptAt *time.Time `json:"next_attempt_at" doc:"When the next attempt was due; null when none was."`
	Manual        bool       `json:"manual" doc:"Whether it was asked for."`
}

func showAttempt(a vigil.Attempt) attemptView {
	return attemptView{
		Number: a.Number, StartedAt: a.StartedAt.UTC(), FinishedAt: inUTC(a.FinishedAt), DurationMS: a.Duration.Milliseconds(),
		Delivered:  a.FinishedAt != nil && a.ErrorCode == "",
		StatusCode: orNull(a.StatusCode), ErrorCode: orNull(a.ErrorCode), Error: orNull(a.Error), ResponseBody: orNull(a.ResponseBody),
		NextAttemptAt: inUTC(a.NextAttemptAt), Manual: a.Manual,
	}
}

func (s *Server) registerDeliveries() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/deliveries", id: "list-deliveries", tag: tagDeliveries,
		summary: "List the deliveries, newest first",
	}, s.listDeliveries)
	register(s, operation{
		method: http.MethodGet, path: "/v1/deliveries/{id}", id: "get-delivery", tag: tagDeliveries, resource: resourceDelivery,
		summary: "Show a delivery",
	}, s.getDelivery)
	register(s, operation{
		method: http.MethodGet, path: "/v1/deliveries/{id}/attempts", id: "list-delivery-attempts", tag: tagDeliveries, resource: resourceDelivery,
		summary: "List the attempts of a delivery, newest first",
	}, s.listAttempts)
	register(s, operation{
		method: http.MethodPost, path: "/v1/deliveries/{id}/redeliver", id: "redeliver", tag: tagDeliveries, resource: resourceDelivery, status: http.StatusAccepted, audit: "delivery.redeliver",
		summary:     "Ask for another attempt",
		description: "Whatever became of the delivery, one more attempt is made soon, with the same id and the same body. A channel that is disabled or deleted is not told.",
		errors:      []int{http.StatusConflict},
	}, s.redeliver)
}

type deliveriesInput struct {
	PageQuery
	IncidentID string               `query:"incident_id" format:"uuid" doc:"Deliveries about one incident."`
	ChannelID  string               `query:"channel_id" format:"uuid" doc:"Deliveries to one channel."`
	Status     vigil.DeliveryStatus `query:"status" enum:"pending,delivered,exhausted,superseded,canceled" doc:"Deliveries in one state."`
}

func (s *Server) listDeliveries(ctx context.Context, in *deliveriesInput) (*listOf[deliveryView], error) {
	filter := vigil.DeliveryFilter{Status: in.Status, Page: in.page()}
	var err error
	if filter.IncidentID, err = filterID("incident_id", in.IncidentID); err != nil {
		return nil, err
	}
	if filter.ChannelID, err = filterID("channel_id", in.ChannelID); err != nil {
		return nil, err
	}
	deliveries, total, err := s.Store.Deliveries(ctx, caller(ctx).org.ID, filter)
	if err != nil {
		return nil, err
	}
	return listing(deliveries, total, s.showDelivery), nil
}

func (s *Server) getDelivery(ctx context.Context, in *IDPath) (*answerOf[deliveryView], error) {
	id, err := in.parse(resourceDelivery)
	if err != nil {
		return nil, err
	}
	delivery, err := s.Store.Delivery(ctx, caller(ctx).org.ID, id)
	if err != nil {
		return nil, err
	}
	return answering(s.showDelivery(delivery)), nil
}

type attemptsInput struct {
	IDPath
	PageQuery
}

func (s *Server) listAttempts(ctx context.Context, in *attemptsInput) (*listOf[attemptView], error) {
	id, err := in.parse(resourceDelivery)
	if err != nil {
		return nil, err
	}
	attempts, total, err := s.Store.Attempts(ctx, caller(ctx).org.ID, id, in.page())
	if err != nil {
		return nil, err
	}
	return listing(attempts, total, showAttempt), nil
}

// redeliver answers when the wish is stored; what tells the workflow may take
// longer, and is repaired by the sweep.
func (s *Server) redeliver(ctx context.Context, in *IDPath) (*answerOf[deliveryView], error) {
	id, err := in.parse(resourceDelivery)
	if err != nil {
		return nil, err
	}
	org := caller(ctx).org.ID
	if err := s.Incidents.Redeliver(ctx, org, id); err != nil {
		return nil, err
	}
	delivery, err := s.Store.Delivery(ctx, org, id)
	if err != nil {
		return nil, err
	}
	return answering(s.showDelivery(delivery)), nil
}
