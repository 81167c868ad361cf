package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/notify"
)

// deliveryStore is where deliveries are kept.
type deliveryStore interface {
	// ClaimAttempt puts the next attempt on record before it is made.
	ClaimAttempt(ctx context.Context, incidentID, channelID uuid.UUID) (vigil.NextAttempt, error)
	RecordOutcome(ctx context.Context, set vigil.AttemptOutcome) (vigil.Remaining, error)
	FreezeBody(ctx context.Context, deliveryID uuid.UUID, body []byte) ([]byte, error)
	// Channel finds a channel with its secrets in clear; CodeNotFound.
	Channel(ctx context.Context, orgID, id uuid.UUID) (vigil.Channel, error)
	// DisableChannel reports whether the channel was enabled until now.
	DisableChannel(ctx context.Context, id uuid.UUID, reason string) (bool, error)
}

// senders are the channel types.
type senders interface {
	Parse(t vigil.ChannelType, config json.RawMessage) (notify.Sender, error)
}

// notices tells an organization what the platform did on its own.
type notices interface {
	ChannelDisabled(ctx context.Context, channel vigil.Channel) error
}

// DeliveriesOptions are what Deliveries works with. Notices may be nil: then
// nobody is told of channels that were disabled.
type DeliveriesOptions struct {
	Store    deliveryStore
	Channels senders
	Notices  notices
	// Schedule are the waits between attempts.
	Schedule vigil.RetrySchedule
	// PublicURL is the address of the API, without a slash at its end.
	PublicURL string
	// Random returns a number from [0, 1), for the jitter of waits.
	Random func() float64
	Now    func() time.Time
	Log    *slog.Logger
}

// Deliveries has the activity of the workflows that tell channels.
type Deliveries struct{ DeliveriesOptions }

// NewDeliveries returns Deliveries.
func NewDeliveries(opts DeliveriesOptions) *Deliveries { return &Deliveries{opts} }

// DeliveryReport says where the messages for a channel stand.
type DeliveryReport struct {
	// Done: nothing is left to tell. Busy: the channel has enough in flight.
	Done bool `json:"done,omitempty"`
	Busy bool `json:"busy,omitempty"`
	// Next is when the next attempt is due; zero: at once.
	Next time.Time `json:"next,omitzero"`
	// Pause is filled in by the workflow.
	Pause time.Duration `json:"-"`
	// Status and Failures are of the delivery that was tried, or ended last.
	Status   vigil.DeliveryStatus `json:"status,omitempty"`
	Failures int                  `json:"failures,omitempty"`
	// Text says for people what came of the attempt.
	Text string `json:"text,omitempty"`
}

// disabledReason is what a channel says that was disabled by its receiver.
const disabledReason = "the receiver answered 410 Gone: it wants no more messages"

// Deliver makes the next attempt to tell a channel about an incident, when one is
// due. An attempt whose outcome nobody recorded is settled first: it counts, and
// it may have arrived.
func (d *Deliveries) Deliver(ctx context.Context, incidentID, channelID uuid.UUID) (DeliveryReport, error) {
	pickup, err := d.Store.ClaimAttempt(ctx, incidentID, channelID)
	if err != nil {
		return DeliveryReport{}, fmt.Errorf("pick up: %w", err)
	}
	switch pickup.State {
	case vigil.NextAttemptNone:
		return DeliveryReport{Done: true, Status: pickup.Last, Text: "**" + string(pickup.Last) + "**"}, nil
	case vigil.NextAttemptLater:
		return DeliveryReport{Next: pickup.Until}, nil
	case vigil.NextAttemptBusy:
		return DeliveryReport{Busy: true, Text: "the channel has enough in flight"}, nil
	case vigil.NextAttemptUnknown:
		lost := pickup.Attempt
		lost.ErrorCode, lost.Error = vigil.AttemptUnknown, "the outcome is not known: the attempt was cut short, and may have arrived"
		return d.settle(ctx, pickup, lost, false, 0)
	case vigil.NextAttemptReady:
	}
	return d.send(ctx, pickup)
}

// send tells the channel and records what came of it, even when the worker is
// told to stop meanwhile.
func (d *Deliveries) send(ctx context.Context, pickup vigil.NextAttempt) (DeliveryReport, error) {
	channel, sender, err := d.sender(ctx, pickup.Delivery)
	var outcome notify.Outcome
	switch {
	case vigil.ErrorCode(err) == vigil.CodeInvalid:
		outcome = notify.Unusable(err)
	case err != nil:
		return DeliveryReport{}, err
	default:
		message := d.message(pickup)
		if message.Envelope, err = d.frozen(ctx, pickup, sender, message); err != nil {
			return DeliveryReport{}, err
		}
		outcome = sender.Send(ctx, message)
	}
	ctx = context.WithoutCancel(ctx)
	attempt := pickup.Attempt
	attempt.StatusCode, attempt.ResponseBody, attempt.Duration = outcome.StatusCode, outcome.ResponseBody, outcome.Duration
	attempt.ErrorCode, attempt.Error = outcome.ErrorCode, outcome.Error
	var asked time.Duration
	if outcome.StatusCode == http.StatusTooManyRequests || outcome.StatusCode == http.StatusServiceUnavailable {
		asked = outcome.RetryAfter
	}
	report, err := d.settle(ctx, pickup, attempt, outcome.Permanent || outcome.Gone, asked)
	if err == nil && outcome.Gone { // on record, whatever the mail takes
		d.disable(ctx, channel)
	}
	return report, err
}

// sender reads the channel as it is now. A channel that was deleted since the
// pickup has no use for the message: the error is CodeInvalid, and the next
// pickup cancels what is left.
func (d *Deliveries) sender(ctx context.Context, delivery vigil.Delivery) (vigil.Channel, notify.Sender, error) {
	channel, err := d.Store.Channel(ctx, delivery.OrgID, delivery.ChannelID)
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		return channel, nil, vigil.Errorf(vigil.CodeInvalid, "the channel was deleted")
	case err != nil:
		return channel, nil, fmt.Errorf("read the channel: %w", err)
	}
	sender, err := d.Channels.Parse(channel.Type, channel.Config)
	return channel, sender, err
}

func (d *Deliveries) message(pickup vigil.NextAttempt) notify.Message {
	e := &pickup.Event
	return notify.Message{
		Event: e.ID, Type: e.Type, Delivery: pickup.Delivery.ID, Attempt: pickup.Attempt.Number, Time: e.Time,
		Incident: e.IncidentID, Severity: pickup.Severity, Title: e.Title, Body: e.Body,
		Variables: e.Variables, Envelope: e.Envelope, Merged: pickup.Merged,
	}
}

// frozen is the body that every attempt of the delivery sends. A channel that
// renders it from templates may be changed between two attempts, so what the
// first one made is kept.
func (d *Deliveries) frozen(ctx context.Context, pickup vigil.NextAttempt, sender notify.Sender, message notify.Message) ([]byte, error) {
	if pickup.Body != nil {
		return pickup.Body, nil
	}
	body := notify.Freeze(sender, message)
	if string(body) == string(message.Envelope) {
		return body, nil
	}
	kept, err := d.Store.FreezeBody(ctx, pickup.Delivery.ID, body)
	if err != nil {
		return nil, fmt.Errorf("freeze the body: %w", err)
	}
	return kept, nil
}

// settle records the outcome of an attempt and when to try again.
func (d *Deliveries) settle(ctx context.Context, pickup vigil.NextAttempt, attempt vigil.Attempt, final bool, asked time.Duration) (DeliveryReport, error) {
	set := vigil.AttemptOutcome{Attempt: attempt, Delivered: attempt.ErrorCode == "", Merged: pickup.Merged}
	if !set.Delivered && !final {
		most := min(pickup.Delivery.Policy.MaxAttempts, len(d.Schedule)+1)
		if wait, more := d.Schedule.Wait(pickup.Delivery.Failures+1, most, d.Random(), asked); more {
			set.NextAttemptAt = new(d.Now().Add(wait))
		}
	}
	rest, err := d.Store.RecordOutcome(ctx, set)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return DeliveryReport{Done: true, Status: vigil.DeliveryCanceled}, nil // deleted with its check
	}
	if err != nil {
		return DeliveryReport{}, fmt.Errorf("settle: %w", err)
	}
	countAttempt(ctx, pickup.Delivery.ChannelType, set, rest)
	return DeliveryReport{
		Done: !rest.Pending, Next: rest.Until, Status: rest.Status, Failures: rest.Failures,
		Text: attemptText(pickup.Delivery.EventType, attempt),
	}, nil
}

// attemptText names the outcome without anything that a receiver said.
func attemptText(event vigil.EventType, a vigil.Attempt) string {
	switch {
	case a.ErrorCode == "":
		return fmt.Sprintf("**delivered** %s with attempt %d", event, a.Number)
	case a.StatusCode != 0:
		return fmt.Sprintf("attempt %d of %s failed: %s %d", a.Number, event, a.ErrorCode, a.StatusCode)
	}
	return fmt.Sprintf("attempt %d of %s failed: %s", a.Number, event, a.ErrorCode)
}

// disableTime bounds disabling a channel and telling of it.
const disableTime = 25 * time.Second

// disable keeps a channel from being told again, as its receiver asked. Should
// the process die before it, the next message hears the same and disables it
// then. Who owns it hears of it at most once: of several attempts that are told
// so the one that disables the channel sends the mail, and a mail that fails, or
// dies with the process, is not sent again. The channel itself says why it is
// disabled.
func (d *Deliveries) disable(ctx context.Context, channel vigil.Channel) {
	ctx, cancel := context.WithTimeout(ctx, disableTime)
	defer cancel()
	changed, err := d.Store.DisableChannel(ctx, channel.ID, disabledReason)
	if err == nil && changed && d.Notices != nil {
		err = d.Notices.ChannelDisabled(ctx, channel)
	}
	if err != nil {
		d.Log.ErrorContext(ctx, "channel not disabled, or its organization not told", "channel", channel.ID, "error", err)
	}
}
