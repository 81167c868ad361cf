// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// deliveryStore stores deliveries and their attempts.
type deliveryStore interface {
	// ClaimAttempt stores the next attempt before it is made.
	ClaimAttempt(ctx context.Context, incidentID, channelID uuid.UUID) (vigil.NextAttempt, error)
	RecordOutcome(ctx context.Context, outcome vigil.AttemptOutcome) (vigil.Remaining, error)
	FreezeBody(ctx context.Context, deliveryID uuid.UUID, body []byte) ([]byte, error)
	// DeliveryChannel returns the channel of a delivery with its secrets in plaintext, and
	// whether its config is a former one; CodeNotFound.
	DeliveryChannel(ctx context.Context, delivery vigil.Delivery) (channel vigil.Channel, former bool, err error)
	// DisableChannel reports whether this call disabled the channel.
	DisableChannel(ctx context.Context, id uuid.UUID, reason string) (bool, error)
}

// senders are the channel types.
type senders interface {
	Parse(t vigil.ChannelType, config json.RawMessage) (notify.Sender, error)
}

// DeliveriesOptions are the dependencies of Deliveries.
type DeliveriesOptions struct {
	Store deliveryStore
	// Workflows signals the deliveries that may start an attempt.
	Workflows deliveryStarter
	Channels  senders
	// Schedule holds the waits between attempts.
	Schedule vigil.RetrySchedule
	// PublicURL is the address of the API, without a trailing slash.
	PublicURL string
	// Facts reads what messages to people say besides their text.
	Facts factStore
	// Links are those by which a reader acknowledges an incident.
	Links notify.AcknowledgeLinks
	// Spans receives the steps of traces; nil: none does.
	Spans spanRecorder
	// Random returns a number from [0, 1), for the jitter of waits.
	Random func() float64
	Now    func() time.Time
	Log    *slog.Logger
}

// Deliveries has the activity of the delivery workflow.
type Deliveries struct{ DeliveriesOptions }

// NewDeliveries returns Deliveries.
func NewDeliveries(opts DeliveriesOptions) *Deliveries { return &Deliveries{opts} }

// DeliveryReport is the state of the deliveries to a channel after an attempt.
type DeliveryReport struct {
	// Done: no delivery is pending.
	Done bool `json:"done,omitempty"`
	// Queued: too many attempts are in flight. The delivery has its turn when its workflow is
	// signaled.
	Queued bool `json:"queued,omitempty"`
	// Next is when the next attempt is due; zero: immediately.
	Next time.Time `json:"next,omitzero"`
	// Wait is how long that was ahead when the report was made, at least a millisecond, by the clock
	// that judges what is due. The workflow has another clock. Zero without Next, and in reports of builds
	// that did not tell.
	Wait time.Duration `json:"wait,omitzero"`
	// Pause is set by the workflow.
	Pause time.Duration `json:"-"`
	// Status and Failures are those of the delivery that was attempted, or ended last.
	Status   vigil.DeliveryStatus `json:"status,omitempty"`
	Failures int                  `json:"failures,omitempty"`
	// Text describes the outcome for people.
	Text string `json:"text,omitempty"`
	// TraceID is that of the incident; empty where no attempt was made.
	TraceID string `json:"trace_id,omitempty"`
}

// disabledReason is the reason of a channel that its receiver disabled.
const disabledReason = "the receiver answered 410 Gone: it wants no more messages"

// Deliver makes the next attempt to notify a channel of an incident, if one is
// due. An earlier attempt without an outcome is recorded first as unknown: it
// counts, and may have arrived.
func (d *Deliveries) Deliver(ctx context.Context, incidentID, channelID uuid.UUID) (DeliveryReport, error) {
	next, err := d.Store.ClaimAttempt(ctx, incidentID, channelID)
	if err != nil {
		return DeliveryReport{}, fmt.Errorf("claim an attempt: %w", err)
	}
	sendAll(ctx, d.Workflows, d.Log, next.Admitted)
	switch next.State {
	case vigil.NextAttemptNone:
		return DeliveryReport{Done: true, Status: next.Last, Text: "**" + string(next.Last) + "**"}, nil
	case vigil.NextAttemptLater:
		return DeliveryReport{Next: next.Until, Wait: d.wait(next.Until)}, nil
	case vigil.NextAttemptBusy:
		return DeliveryReport{Queued: true, Text: "waits for other attempts to end"}, nil
	case vigil.NextAttemptUnknown:
		lost := next.Attempt
		lost.ErrorCode, lost.Error = vigil.AttemptUnknown, "the outcome is not known: the attempt was cut short, and may have arrived"
		return d.record(ctx, next, lost, notify.Outcome{}, false)
	case vigil.NextAttemptReady:
	}
	return d.send(ctx, next)
}

// send sends the message and records the outcome, even when the worker is stopped
// meanwhile.
func (d *Deliveries) send(ctx context.Context, next vigil.NextAttempt) (DeliveryReport, error) {
	channel, former, sender, err := d.sender(ctx, next.Delivery)
	var outcome notify.Outcome
	switch {
	case vigil.ErrorCode(err) == vigil.CodeInvalid:
		outcome = notify.Unusable(err)
	case err != nil:
		return DeliveryReport{}, err
	default:
		message := d.message(next)
		message.Facts = d.facts(ctx, &next)
		if message.Envelope, err = d.frozen(ctx, next, sender, message); err != nil {
			return DeliveryReport{}, err
		}
		outcome = sender.Send(ctx, message)
	}
	ctx = context.WithoutCancel(ctx)
	attempt := next.Attempt
	attempt.StatusCode, attempt.ResponseBody, attempt.Duration = outcome.StatusCode, outcome.ResponseBody, outcome.Duration
	attempt.ErrorCode, attempt.Error = outcome.ErrorCode, outcome.Error
	attempt.Recipients, attempt.Reached = outcome.Recipients, outcome.Reached
	report, err := d.record(ctx, next, attempt, outcome, former)
	if err == nil && outcome.Gone && !former { // the outcome is stored, so a death before this loses nothing
		d.disable(ctx, channel)
	}
	return report, err
}

// sender reads the channel, or the one of the time of the opening where the recovery must
// go there. CodeInvalid: the channel was deleted since the attempt was claimed; the next
// claim cancels the deliveries that are left.
func (d *Deliveries) sender(
	ctx context.Context, delivery vigil.Delivery,
) (channel vigil.Channel, former bool, sender notify.Sender, err error) {
	err = patiently(ctx, storePatience, func(ctx context.Context) (err error) {
		channel, former, err = d.Store.DeliveryChannel(ctx, delivery)
		return err
	})
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		return channel, former, nil, vigil.Errorf(vigil.CodeInvalid, "the channel was deleted")
	case err != nil:
		return channel, former, nil, fmt.Errorf("read the channel: %w", err)
	}
	if sender, err = d.Channels.Parse(channel.Type, channel.Config); err == nil {
		sender = notify.WithFormerSecret(sender, channel.FormerSecret)
	}
	return channel, former, sender, err
}

// message is what an attempt sends: the event as it was stored, with what is of this attempt alone.
func (d *Deliveries) message(next vigil.NextAttempt) notify.Message {
	e, instead := &next.Event, next.Delivery.FallbackFor
	return notify.Message{
		Event: e.ID, Type: e.Type, Delivery: next.Delivery.ID, Organization: next.Delivery.OrgID, Attempt: next.Attempt.Number,
		Manual: next.Attempt.Manual, Time: e.Time,
		Incident: e.IncidentID, Severity: next.Severity, Title: e.Title, Body: e.Body,
		Variables: e.Variables, Envelope: events.FallbackEnvelope(e.Envelope, instead), Note: events.FallbackNote(instead), Merged: next.Merged,
		Previous:    next.Previous,
		Drill:       e.Variables[events.VariableDrill] != "",
		Traceparent: vigil.Traceparent(next.TraceID, attemptSpan(&next.Attempt)),
	}
}

// frozen returns the body that every attempt of the delivery sends: the one that
// the first attempt rendered, since the channel's templates may change between two
// attempts.
func (d *Deliveries) frozen(ctx context.Context, next vigil.NextAttempt, sender notify.Sender, message notify.Message) ([]byte, error) {
	if next.Body != nil {
		return next.Body, nil
	}
	body := notify.Freeze(sender, message)
	if string(body) == string(next.Event.Envelope) {
		return body, nil
	}
	var kept []byte
	err := patiently(ctx, storePatience, func(ctx context.Context) (err error) {
		kept, err = d.Store.FreezeBody(ctx, next.Delivery.ID, body)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("freeze the body: %w", err)
	}
	return kept, nil
}

// record stores the outcome of an attempt and when to retry. seen is what came of it; the zero
// value where that is not known. former: the message went to an address that the channel has left.
func (d *Deliveries) record(
	ctx context.Context, next vigil.NextAttempt, attempt vigil.Attempt, seen notify.Outcome, former bool,
) (DeliveryReport, error) {
	outcome := vigil.AttemptOutcome{
		Attempt: attempt, Delivered: attempt.ErrorCode == "", Merged: next.Merged, Progress: attempt.Reached > 0, Reference: seen.Reference,
		Gone: seen.Gone && !former, Former: former, PublicURL: d.PublicURL,
	}
	var retryAfter time.Duration
	if seen.StatusCode == http.StatusTooManyRequests || seen.StatusCode == http.StatusServiceUnavailable ||
		seen.ErrorCode == notify.CodeQuota {
		retryAfter = seen.RetryAfter
	}
	if !outcome.Delivered && !seen.Permanent && !seen.Gone {
		maxAttempts := min(next.Delivery.Policy.MaxAttempts, len(d.Schedule)+1)
		if wait, ok := d.Schedule.Wait(next.Delivery.Failures+1, maxAttempts, d.Random(), retryAfter); ok {
			outcome.NextAttemptAt = new(d.Now().Add(wait))
		}
	}
	var remaining vigil.Remaining
	err := patiently(ctx, outcomePatience, func(ctx context.Context) (err error) {
		remaining, err = d.Store.RecordOutcome(ctx, outcome)
		return err
	})
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return DeliveryReport{Done: true, Status: vigil.DeliveryCanceled}, nil // deleted with its check
	}
	if err != nil {
		return DeliveryReport{}, fmt.Errorf("record the outcome: %w", err)
	}
	sendAll(ctx, d.Workflows, d.Log, remaining.Admitted)
	if next.Event.Variables[events.VariableDrill] == "" {
		countAttempt(ctx, next.Delivery.ChannelType, outcome, remaining)
	}
	d.traceAttempt(ctx, &next, &attempt, &remaining)
	return DeliveryReport{
		Done: !remaining.Pending, Next: remaining.Until, Wait: d.wait(remaining.Until), Status: remaining.Status,
		Failures: remaining.Failures, Text: attemptText(next.Delivery.EventType, attempt), TraceID: next.TraceID,
	}, nil
}

// wait returns the Wait of a report for its Next.
func (d *Deliveries) wait(next time.Time) time.Duration {
	if next.IsZero() {
		return 0
	}
	return max(next.Sub(d.Now()), time.Millisecond)
}

// attemptText describes the outcome without quoting the receiver.
func attemptText(event vigil.EventType, a vigil.Attempt) string {
	switch {
	case a.ErrorCode == "":
		return fmt.Sprintf("**delivered** %s with attempt %d", event, a.Number)
	case a.StatusCode != 0:
		return fmt.Sprintf("attempt %d of %s failed: %s %d", a.Number, event, a.ErrorCode, a.StatusCode)
	}
	return fmt.Sprintf("attempt %d of %s failed: %s", a.Number, event, a.ErrorCode)
}

// disableTimeout bounds disabling a channel.
const disableTimeout = 25 * time.Second

// disable disables a channel, as its receiver requested. If the process dies before
// that, the next message gets the same answer and disables it. The mail to the owners
// follows from the outcome, which is stored.
func (d *Deliveries) disable(ctx context.Context, channel vigil.Channel) {
	ctx, cancel := context.WithTimeout(ctx, disableTimeout)
	defer cancel()
	if _, err := d.Store.DisableChannel(ctx, channel.ID, disabledReason); err != nil {
		d.Log.ErrorContext(ctx, "the channel was not disabled", "channel", channel.ID, "error", err)
	}
}
