// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

const (
	resourceDelivery = "delivery"
)

// deliveryStore reads deliveries.
type deliveryStore interface {
	Deliveries(ctx context.Context, orgID uuid.UUID, filter listing.DeliveryFilter) ([]vigil.Delivery, listing.Extent, error)
	Delivery(ctx context.Context, orgID, id uuid.UUID) (vigil.Delivery, error)
	DeliveryMessage(ctx context.Context, orgID, id uuid.UUID) (vigil.DeliveryMessage, error)
	Attempts(ctx context.Context, orgID, deliveryID uuid.UUID, page listing.Page) ([]vigil.Attempt, int, error)
}

type deliveries struct {
	store     deliveryStore
	workflows resource.IncidentWorkflows
	links     resource.WorkflowLinks
	schedule  vigil.RetrySchedule
}

// deliveryView is one event on its way to one channel.
type deliveryView struct {
	ID            uuid.UUID               `json:"id" format:"uuid"`
	EventID       uuid.UUID               `json:"event_id" format:"uuid" doc:"The id of the event: that of a webhook's body and of its webhook-id."`
	EventType     vigil.EventType         `json:"event_type" enum:"incident.triggered,incident.acknowledged,incident.updated,incident.resolved,check.unobserved,check.observed,channel.failing,channel.recovered,delivery.exhausted,region.blind,region.sighted,location.silent,location.back,drill.passed,drill.failed,check.paused,check.resumed,report.ready"`
	IncidentID    *uuid.UUID              `json:"incident_id" format:"uuid" nullable:"true" doc:"The incident; null where the message is about none."`
	UnobservedID  *uuid.UUID              `json:"unobserved_id" format:"uuid" nullable:"true" doc:"The time without results that a check.unobserved or check.observed is about: unobserved.id of its body; null for other messages."`
	SubjectID     *uuid.UUID              `json:"subject_id" format:"uuid" nullable:"true" doc:"What a system event is about, for example one time in which a channel fails: its beginning and its end have the same one; null for other messages."`
	IncidentTitle string                  `json:"incident_title,omitempty" doc:"The title of the incident, or of a message about none while that is kept; absent in a timeline." example:"Home page is failing"`
	CheckID       *uuid.UUID              `json:"check_id" format:"uuid" nullable:"true" doc:"Null where the message is about no check."`
	ChannelID     uuid.UUID               `json:"channel_id" format:"uuid"`
	ChannelType   vigil.ChannelType       `json:"channel_type" example:"webhook"`
	ChannelName   string                  `json:"channel_name" doc:"The name that the channel had when the delivery was made."`
	Status        vigil.DeliveryStatus    `json:"status" enum:"pending,delivered,exhausted,superseded,canceled" doc:"pending: not delivered yet. delivered: an attempt succeeded. exhausted: every attempt failed. superseded: the incident, or the time without results, ended before a delivery. canceled: the channel was disabled or deleted."`
	Attempts      int                     `json:"attempts" minimum:"0" doc:"How many attempts were made."`
	NextAttemptAt *time.Time              `json:"next_attempt_at" doc:"When the next attempt is due; null when none is, or when it is due as soon as it can be made."`
	Redelivering  bool                    `json:"redelivering" doc:"Another attempt was requested and is not made yet."`
	Merged        bool                    `json:"merged" doc:"One message reported both the opening and the recovery."`
	FallbackFor   *fallbackForView        `json:"fallback_for" doc:"The delivery in whose place this one is, because its channel could not be reached; null for every other."`
	CreatedAt     time.Time               `json:"created_at"`
	UpdatedAt     time.Time               `json:"updated_at"`
	FinishedAt    *time.Time              `json:"finished_at" doc:"When it ended; null while it is pending."`
	WorkflowID    string                  `json:"workflow_id" doc:"The workflow that delivers it."`
	RunURL        *string                 `json:"run_url" doc:"The workflow in the Temporal UI; null where there is no UI."`
	Recipients    []deliveryRecipientView `json:"recipients,omitempty" doc:"Of a single delivery to an email channel: what became of the mail for each recipient. A recipient that has it does not get it again when the others are tried again."`
	RetryWaits    []float64               `json:"retry_waits_seconds,omitempty" doc:"Of a single delivery: how long each further attempt waits after the one before it, in seconds; one number less than there are attempts."`
}

// fallbackForView names a delivery that could not be made.
type fallbackForView struct {
	ChannelID   uuid.UUID `json:"channel_id" format:"uuid" doc:"The channel that could not be reached."`
	ChannelName string    `json:"channel_name" doc:"The name that it had when its delivery was made."`
	DeliveryID  uuid.UUID `json:"delivery_id" format:"uuid" doc:"Its delivery of the message."`
}

// deliveryRecipientView is what became of a mail for one recipient.
type deliveryRecipientView struct {
	Email         string           `json:"email" doc:"The address, as the channel spells it."`
	Status        vigil.MailStatus `json:"status" enum:"pending,delivered,failed,refused,unknown,unconfirmed,unsubscribed,removed" doc:"pending: not tried yet. delivered: the mail server took it. failed: the last attempt failed, and another one follows while the delivery is pending. refused: the mail server refused it for good; it is tried again only while none has the mail. unknown: it was handed over without an answer and may have arrived; it is tried again, with the same Message-ID. unconfirmed: the recipient has not agreed to get mail. unsubscribed: it wants no more. removed: the channel has it no more."`
	Attempts      int              `json:"attempts" minimum:"0" doc:"How often it was tried."`
	StatusCode    *int             `json:"status_code" doc:"Reply code of the mail server to the last attempt; null when there was none."`
	ErrorCode     *string          `json:"error_code" doc:"Why the last attempt failed, for a program." example:"rejected"`
	Error         *string          `json:"error" doc:"Why the last attempt failed, for a person."`
	LastAttemptAt *time.Time       `json:"last_attempt_at" doc:"Null when none was made."`
	DeliveredAt   *time.Time       `json:"delivered_at" doc:"Null while it is not delivered."`
}

func showRecipient(r vigil.DeliveryRecipient) deliveryRecipientView {
	return deliveryRecipientView{
		Email: r.Address, Status: r.Status, Attempts: r.Attempts, StatusCode: vigil.NilIfZero(r.StatusCode),
		ErrorCode: vigil.NilIfZero(r.ErrorCode), Error: vigil.NilIfZero(r.Error),
		LastAttemptAt: resource.InUTC(r.AttemptedAt), DeliveredAt: resource.InUTC(r.DeliveredAt),
	}
}

// single shows a delivery with its schedule.
func (d *deliveries) single(delivery vigil.Delivery) deliveryView {
	view := showDelivery(d.links, delivery)
	for _, wait := range d.schedule.Limit(delivery.Policy.MaxAttempts) {
		view.RetryWaits = append(view.RetryWaits, wait.Seconds())
	}
	for _, recipient := range delivery.Recipients {
		view.Recipients = append(view.Recipients, showRecipient(recipient))
	}
	return view
}

func showDelivery(l resource.WorkflowLinks, d vigil.Delivery) deliveryView {
	workflow := vigil.DeliveryWorkflowID(d.IncidentID, d.ChannelID)
	var incident, unobserved, subject *uuid.UUID
	switch {
	case d.EventType.Unobserved():
		unobserved = &d.IncidentID
	case d.EventType.System():
		subject = &d.IncidentID
	default:
		incident = &d.IncidentID
	}
	return deliveryView{
		ID:            d.ID,
		EventID:       d.EventID,
		EventType:     d.EventType,
		IncidentID:    incident,
		UnobservedID:  unobserved,
		SubjectID:     subject,
		IncidentTitle: d.IncidentTitle,
		CheckID:       vigil.NilIfZero(d.CheckID),
		ChannelID:     d.ChannelID,
		ChannelType:   d.ChannelType,
		ChannelName:   d.ChannelName,
		Status:        d.Status,
		Attempts:      d.Attempts,
		NextAttemptAt: resource.InUTC(d.NextAttemptAt),
		Redelivering:  d.Redeliver,
		Merged:        d.Merged,
		FallbackFor:   (*fallbackForView)(d.FallbackFor),
		CreatedAt:     d.CreatedAt.UTC(),
		UpdatedAt:     d.UpdatedAt.UTC(),
		FinishedAt:    resource.InUTC(d.FinishedAt),
		WorkflowID:    workflow,
		RunURL:        l.Of(workflow, ""),
	}
}

// attemptView is one try to deliver.
type attemptView struct {
	Number        int        `json:"number" minimum:"1"`
	StartedAt     time.Time  `json:"started_at"`
	FinishedAt    *time.Time `json:"finished_at" doc:"Null while it is under way."`
	DurationMS    int64      `json:"duration_ms" minimum:"0"`
	Delivered     bool       `json:"delivered" doc:"Whether the message was delivered."`
	StatusCode    *int       `json:"status_code" doc:"Status of the answer; null when there was none."`
	ErrorCode     *string    `json:"error_code" doc:"Why it failed, for a program; unknown when it is not known whether it arrived." example:"timeout"`
	Error         *string    `json:"error" doc:"Why it failed, for a person."`
	ResponseBody  *string    `json:"response_body" doc:"The first 4 KiB of the answer."`
	NextAttemptAt *time.Time `json:"next_attempt_at" doc:"When the next attempt was due; null when none was."`
	Manual        bool       `json:"manual" doc:"Whether it was requested through the API."`
	Recipients    *int       `json:"recipients" doc:"How many recipients the attempt sent a mail to; null for other messages." minimum:"0"`
	Reached       *int       `json:"recipients_reached" doc:"How many of them it reached; null for other messages." minimum:"0"`
	TraceID       *string    `json:"trace_id" pattern:"^[0-9a-f]{32}$" doc:"The trace of the incident; null for a test of a channel."`
}

func showAttempt(a vigil.Attempt) attemptView {
	view := attemptView{
		Number:        a.Number,
		StartedAt:     a.StartedAt.UTC(),
		FinishedAt:    resource.InUTC(a.FinishedAt),
		DurationMS:    a.Duration.Milliseconds(),
		Delivered:     a.FinishedAt != nil && a.ErrorCode == "",
		StatusCode:    vigil.NilIfZero(a.StatusCode),
		ErrorCode:     vigil.NilIfZero(a.ErrorCode),
		Error:         vigil.NilIfZero(a.Error),
		ResponseBody:  vigil.NilIfZero(a.ResponseBody),
		NextAttemptAt: resource.InUTC(a.NextAttemptAt),
		Manual:        a.Manual,
		TraceID:       vigil.NilIfZero(a.TraceID),
	}
	if a.Recipients > 0 {
		view.Recipients, view.Reached = &a.Recipients, &a.Reached
	}
	return view
}

func (d *deliveries) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/deliveries", ID: "list-deliveries", Tag: resource.TagDeliveries,
		Summary: "List the deliveries, newest first",
	}, d.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/deliveries/{id}", ID: "get-delivery", Tag: resource.TagDeliveries, Resource: resourceDelivery,
		Summary: "Get a delivery",
	}, d.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/deliveries/{id}/attempts", ID: "list-delivery-attempts", Tag: resource.TagDeliveries,
		Resource: resourceDelivery,
		Summary:  "List the attempts of a delivery, newest first",
	}, d.listAttempts)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/deliveries/{id}/message", ID: "get-delivery-message", Tag: resource.TagDeliveries,
		Resource: resourceDelivery,
		Summary:  "Get the message of a delivery",
		Description: "A message is kept as long as the events of the alert stream, 7 days unless the operator changes it. " +
			"After that the answer is 404 with a message that says so.",
	}, d.message)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/deliveries/{id}/redeliver", ID: "redeliver", Tag: resource.TagDeliveries, Scope: account.ScopeRespond,
		Resource: resourceDelivery, Status: http.StatusAccepted, Audit: "delivery.redeliver", Idempotent: true,
		Summary: "Redeliver a notification",
		Description: "Makes one more attempt soon, with the same id and body, in any state of the delivery. A mail goes to the recipients " +
			"that do not have it, and to all when each has it. A channel that is disabled or deleted gets none.",
		Errors: []int{http.StatusConflict},
	}, d.redeliver)
}

type deliveriesInput struct {
	rest.ListQuery
	IncidentID string               `query:"incident_id" format:"uuid" doc:"Deliveries about one incident."`
	Unobserved string               `query:"unobserved_id" format:"uuid" doc:"Deliveries about one time in which a check is not probed."`
	ChannelID  string               `query:"channel_id" format:"uuid" doc:"Deliveries to one channel."`
	Status     vigil.DeliveryStatus `query:"status" enum:"pending,delivered,exhausted,superseded,canceled" doc:"Deliveries in one state."`
}

func (d *deliveries) list(ctx context.Context, in *deliveriesInput) (*rest.Listing[deliveryView], error) {
	page, cursor, err := in.Open(rest.MaxPage, "deliveries", in.IncidentID, in.ChannelID, string(in.Status), in.Unobserved)
	if err != nil {
		return nil, err
	}
	filter := listing.DeliveryFilter{Status: in.Status, Page: page}
	if filter.IncidentID, err = resource.FilterID("incident_id", in.IncidentID); err != nil {
		return nil, err
	}
	if filter.UnobservedID, err = resource.FilterID("unobserved_id", in.Unobserved); err != nil {
		return nil, err
	}
	if filter.ChannelID, err = resource.FilterID("channel_id", in.ChannelID); err != nil {
		return nil, err
	}
	rows, extent, err := d.store.Deliveries(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, func(one vigil.Delivery) deliveryView { return showDelivery(d.links, one) }), nil
}

func (d *deliveries) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[deliveryView], error) {
	id, err := in.Parse(resourceDelivery)
	if err != nil {
		return nil, err
	}
	delivery, err := d.store.Delivery(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(d.single(delivery)), nil
}

type attemptsInput struct {
	rest.IDPath
	rest.PageQuery
}

func (d *deliveries) listAttempts(ctx context.Context, in *attemptsInput) (*rest.Listing[attemptView], error) {
	id, err := in.Parse(resourceDelivery)
	if err != nil {
		return nil, err
	}
	attempts, total, err := d.store.Attempts(ctx, rest.CallerOf(ctx).Org.ID, id, in.Page())
	if err != nil {
		return nil, err
	}
	return rest.NewListing(attempts, total, showAttempt), nil
}

// redeliver answers once the request is stored. The workflow is signaled
// afterwards; the sweep repairs a lost signal.
func (d *deliveries) redeliver(ctx context.Context, in *rest.IDPath) (*rest.Answer[deliveryView], error) {
	id, err := in.Parse(resourceDelivery)
	if err != nil {
		return nil, err
	}
	org := rest.CallerOf(ctx).Org.ID
	if err := d.workflows.Redeliver(ctx, org, id); err != nil {
		return nil, err
	}
	delivery, err := d.store.Delivery(ctx, org, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(d.single(delivery)), nil
}
