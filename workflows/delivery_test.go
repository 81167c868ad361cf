// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/workflows"
)

// deliveryTest runs the workflow that notifies one channel of one incident, in
// skipped time. It is the outbox, the channel and the receiver, in memory.
type deliveryTest struct {
	*testing.T
	env  *testEnv
	kind vigil.ChannelType
	box  vigil.Outbox
	// sent is what the receiver got, at is when, relative to the start.
	sent  []notify.Message
	at    []time.Duration
	start time.Time
	// answer is what the receiver says to the nth message, from 1.
	answer func(n int) notify.Outcome
	// inFlight is an attempt without an outcome; crashes makes attempts end so.
	inFlight *vigil.Attempt
	crashes  func(n int) bool
	busy     int
	disabled int
	body     []byte
	// behind is by how much the clock of the process that attempts is behind that of Temporal, and
	// claims how often it was asked.
	behind time.Duration
	claims int
}

func newDeliveryTest(t *testing.T, kind vigil.ChannelType) *deliveryTest {
	t.Helper()
	c := &deliveryTest{T: t, env: newTestEnv(), kind: kind}
	c.start = c.env.Now()
	c.box = vigil.Outbox{Usable: true, Deliveries: []vigil.Delivery{pending(kind, vigil.EventTriggered)}}
	c.answer = func(int) notify.Outcome { return notify.Outcome{StatusCode: 200} }
	c.env.RegisterWorkflow(workflows.Delivery)
	acts := activities.NewDeliveries(activities.DeliveriesOptions{
		Store: c, Channels: c, Schedule: vigil.DefaultRetrySchedule(),
		Random: func() float64 { return 0.5 }, Now: c.now, Log: slog.New(slog.DiscardHandler),
	})
	c.env.RegisterActivityWithOptions(acts.Deliver, activity.RegisterOptions{Name: "Deliver"})
	return c
}

// now is what the process that attempts has for the present.
func (c *deliveryTest) now() time.Time { return c.env.Now().Add(-c.behind) }

func (c *deliveryTest) ClaimAttempt(context.Context, uuid.UUID, uuid.UUID) (vigil.NextAttempt, error) {
	c.claims++
	if c.inFlight != nil {
		return vigil.NextAttempt{State: vigil.NextAttemptUnknown, Attempt: *c.inFlight, Delivery: *c.delivery(c.inFlight.DeliveryID)}, nil
	}
	d := vigil.DecideDelivery(c.box)
	for _, id := range d.Supersede {
		c.delivery(id).Status = vigil.DeliverySuperseded
	}
	for _, id := range d.Cancel {
		c.delivery(id).Status = vigil.DeliveryCanceled
	}
	switch {
	case d.Attempt == uuid.Nil:
		return vigil.NextAttempt{State: vigil.NextAttemptNone, Last: c.box.Deliveries[len(c.box.Deliveries)-1].Status}, nil
	case !d.Manual && d.NotBefore.After(c.now()):
		return vigil.NextAttempt{State: vigil.NextAttemptLater, Until: d.NotBefore}, nil
	case c.busy > 0:
		c.busy--
		return vigil.NextAttempt{State: vigil.NextAttemptBusy}, nil
	}
	row := c.delivery(d.Attempt)
	row.Attempts++
	row.Redeliver = false
	c.inFlight = &vigil.Attempt{ID: uuid.New(), DeliveryID: row.ID, Number: row.Attempts, Manual: d.Manual}
	return vigil.NextAttempt{
		State: vigil.NextAttemptReady, Delivery: *row, Attempt: *c.inFlight, Merged: d.Merged, Body: c.body,
		Event: vigil.Event{ID: row.ID, Type: row.EventType, Envelope: []byte("envelope")},
	}, nil
}

func (c *deliveryTest) delivery(id uuid.UUID) *vigil.Delivery {
	return &c.box.Deliveries[slices.IndexFunc(c.box.Deliveries, func(d vigil.Delivery) bool { return d.ID == id })]
}

func (c *deliveryTest) RecordOutcome(_ context.Context, set vigil.AttemptOutcome) (vigil.Remaining, error) {
	c.inFlight = nil
	row := c.delivery(set.Attempt.DeliveryID)
	switch {
	case set.Delivered:
		row.Status = vigil.DeliveryDelivered
	case set.Attempt.Manual:
	default:
		row.Failures++
		if row.NextAttemptAt = set.NextAttemptAt; row.NextAttemptAt == nil {
			row.Status = vigil.DeliveryExhausted
		}
	}
	rest := vigil.Remaining{Status: row.Status, Failures: row.Failures}
	for _, d := range c.box.Deliveries {
		rest.Pending = rest.Pending || d.Status == vigil.DeliveryPending
	}
	if row.NextAttemptAt != nil && row.Status == vigil.DeliveryPending {
		rest.Until = *row.NextAttemptAt
	}
	return rest, nil
}

func (c *deliveryTest) FreezeBody(_ context.Context, _ uuid.UUID, body []byte) ([]byte, error) {
	if c.body == nil {
		c.body = body
	}
	return c.body, nil
}

func (c *deliveryTest) DeliveryChannel(context.Context, vigil.Delivery) (vigil.Channel, bool, error) {
	return vigil.Channel{Type: c.kind}, false, nil
}

func (c *deliveryTest) DisableChannel(context.Context, uuid.UUID, string) (bool, error) {
	changed := c.box.Usable
	if changed {
		c.disabled++
	}
	c.box.Usable = false
	return changed, nil
}

func (c *deliveryTest) Parse(vigil.ChannelType, json.RawMessage) (notify.Sender, error) {
	return c, nil
}

func (c *deliveryTest) Target() string { return "receiver" }

func (c *deliveryTest) Send(_ context.Context, m notify.Message) notify.Outcome {
	c.sent = append(c.sent, m)
	c.at = append(c.at, c.env.Now().Sub(c.start))
	if c.crashes != nil && c.crashes(len(c.sent)) {
		panic("the process crashes")
	}
	return c.answer(len(c.sent))
}

// pending is a message that the channel has not got yet.
func pending(kind vigil.ChannelType, event vigil.EventType) vigil.Delivery {
	return vigil.Delivery{
		ID: uuid.New(), EventType: event, ChannelType: kind, Status: vigil.DeliveryPending, Policy: notify.Policies().Of(kind),
	}
}

// openedAndResolved are the events of an incident without an acknowledgement.
func openedAndResolved() []vigil.EventType {
	return []vigil.EventType{vigil.EventTriggered, vigil.EventResolved}
}

// recover ends the incident.
func (c *deliveryTest) recover() {
	c.box.Ended = true
	c.box.Deliveries = append(c.box.Deliveries, pending(c.kind, vigil.EventResolved))
	c.env.SignalWorkflow(workflows.SignalRefresh, nil)
}

func (c *deliveryTest) run() {
	c.Helper()
	c.env.ExecuteWorkflow(workflows.Delivery, workflows.DeliveryInput{IncidentID: uuid.New(), ChannelID: uuid.New()})
	if err := c.env.GetWorkflowError(); err != nil {
		c.Fatal(err)
	}
}

func (c *deliveryTest) sentTypes() []vigil.EventType {
	var types []vigil.EventType
	for _, m := range c.sent {
		types = append(types, m.Type)
	}
	return types
}

func status(code int) notify.Outcome {
	return notify.Outcome{StatusCode: code, ErrorCode: notify.CodeStatus}
}
