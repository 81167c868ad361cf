package workflows_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"vigil"
	"vigil/activities"
	"vigil/notify"
	"vigil/workflows"
)

// courier runs the workflow that tells one channel about one incident, in
// skipped time. It is the outbox, the channel and the receiver, in memory.
type courier struct {
	*testing.T
	env  *testsuite.TestWorkflowEnvironment
	kind vigil.ChannelType
	box  vigil.Outbox
	// sent is what the receiver got, at is when, relative to the start.
	sent  []notify.Message
	at    []time.Duration
	start time.Time
	// answer is what the receiver says to the nth message, from 1.
	answer func(n int) notify.Outcome
	// flying is an attempt without an outcome; dies makes attempts end so.
	flying   *vigil.Attempt
	dies     func(n int) bool
	busy     int
	disabled int
	body     []byte
}

func newCourier(t *testing.T, kind vigil.ChannelType) *courier {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	c := &courier{T: t, env: suite.NewTestWorkflowEnvironment(), kind: kind}
	c.env.SetStartTime(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	c.start = c.env.Now()
	c.box = vigil.Outbox{Usable: true}
	c.add(vigil.EventTriggered)
	c.answer = func(int) notify.Outcome { return notify.Outcome{StatusCode: 200} }
	c.env.RegisterWorkflow(workflows.Delivery)
	acts := activities.NewDeliveries(activities.DeliveriesOptions{
		Store: c, Channels: c, Notices: c, Schedule: vigil.DefaultRetrySchedule(),
		Random: func() float64 { return 0.5 }, Now: c.env.Now, Log: slog.New(slog.DiscardHandler),
	})
	c.env.RegisterActivityWithOptions(acts.Deliver, activity.RegisterOptions{Name: "Deliver"})
	return c
}

func (c *courier) ClaimAttempt(context.Context, uuid.UUID, uuid.UUID) (vigil.NextAttempt, error) {
	if c.flying != nil {
		return vigil.NextAttempt{State: vigil.NextAttemptUnknown, Attempt: *c.flying, Delivery: *c.delivery(c.flying.DeliveryID)}, nil
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
	case !d.Manual && d.NotBefore.After(c.env.Now()):
		return vigil.NextAttempt{State: vigil.NextAttemptLater, Until: d.NotBefore}, nil
	case c.busy > 0:
		c.busy--
		return vigil.NextAttempt{State: vigil.NextAttemptBusy}, nil
	}
	row := c.delivery(d.Attempt)
	row.Attempts++
	row.Redeliver = false
	c.flying = &vigil.Attempt{ID: uuid.New(), DeliveryID: row.ID, Number: row.Attempts, Manual: d.Manual}
	return vigil.NextAttempt{
		State: vigil.NextAttemptReady, Delivery: *row, Attempt: *c.flying, Merged: d.Merged, Body: c.body,
		Event: vigil.Event{ID: row.ID, Type: row.EventType, Envelope: []byte("envelope")},
	}, nil
}

func (c *courier) delivery(id uuid.UUID) *vigil.Delivery {
	return &c.box.Deliveries[slices.IndexFunc(c.box.Deliveries, func(d vigil.Delivery) bool { return d.ID == id })]
}

func (c *courier) RecordOutcome(_ context.Context, set vigil.AttemptOutcome) (vigil.Remaining, error) {
	c.flying = nil
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

func (c *courier) FreezeBody(_ context.Context, _ uuid.UUID, body []byte) ([]byte, error) {
	if c.body == nil {
		c.body = body
	}
	return c.body, nil
}

func (c *courier) Channel(context.Context, uuid.UUID, uuid.UUID) (vigil.Channel, error) {
	return vigil.Channel{Type: c.kind}, nil
}

func (c *courier) DisableChannel(context.Context, uuid.UUID, string) (bool, error) {
	changed := c.box.Usable
	c.box.Usable = false
	return changed, nil
}

func (c *courier) ChannelDisabled(context.Context, vigil.Channel) error {
	c.disabled++
	return nil
}

func (c *courier) Parse(vigil.ChannelType, json.RawMessage) (notify.Sender, error) { return c, nil }

func (c *courier) Target() string { return "receiver" }

func (c *courier) Send(_ context.Context, m notify.Message) notify.Outcome {
	c.sent = append(c.sent, m)
	c.at = append(c.at, c.env.Now().Sub(c.start))
	if c.dies != nil && c.dies(len(c.sent)) {
		panic("the process dies")
	}
	return c.answer(len(c.sent))
}

// add puts a pending delivery of an event into the outbox.
func (c *courier) add(event vigil.EventType) {
	c.box.Deliveries = append(c.box.Deliveries, vigil.Delivery{
		ID: uuid.New(), EventType: event, ChannelType: c.kind, Status: vigil.DeliveryPending, Policy: notify.Policies().Of(c.kind),
	})
}

// recover ends the incident.
func (c *courier) recover() {
	c.box.Ended = true
	c.add(vigil.EventResolved)
	c.env.SignalWorkflow(workflows.SignalRefresh, nil)
}

func (c *courier) run() {
	c.Helper()
	c.env.ExecuteWorkflow(workflows.Delivery, workflows.DeliveryInput{IncidentID: uuid.New(), ChannelID: uuid.New()})
	if err := c.env.GetWorkflowError(); err != nil {
		c.Fatal(err)
	}
}

func (c *courier) heard() []vigil.EventType {
	var types []vigil.EventType
	for _, m := range c.sent {
		types = append(types, m.Type)
	}
	return types
}

func status(code int) notify.Outcome {
	return notify.Outcome{StatusCode: code, ErrorCode: notify.CodeStatus}
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	triggered, resolved := vigil.EventTriggered, vigil.EventResolved

	t.Run("ArrivesAtOnce", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.run()
		if len(c.sent) != 1 || c.at[0] != 0 || c.sent[0].Attempt != 1 || string(c.sent[0].Envelope) != "envelope" {
			t.Errorf("sent %+v at %v", c.sent, c.at)
		}
	})

	t.Run("TheWholeScheduleTakesSeventyFiveHours", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.answer = func(int) notify.Outcome { return status(500) }
		c.run()
		want, at := []time.Duration{0}, time.Duration(0)
		for _, wait := range vigil.DefaultRetrySchedule() {
			at += wait
			want = append(want, at)
		}
		if len(c.at) != 12 || c.box.Deliveries[0].Status != vigil.DeliveryExhausted {
			t.Fatalf("%d attempts, %s", len(c.at), c.box.Deliveries[0].Status)
		}
		for i := range want {
			if off := c.at[i] - want[i]; off < 0 || off > time.Second {
				t.Errorf("attempt %d came after %v, want %v", i+1, c.at[i], want[i])
			}
		}
	})

	t.Run("AnHourOfDowntimeIsOneTriggeredAndOneResolvedInOrder", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.answer = func(int) notify.Outcome {
			if c.env.Now().Sub(c.start) < time.Hour {
				return notify.Outcome{ErrorCode: notify.CodeRefused}
			}
			return notify.Outcome{StatusCode: 204}
		}
		c.env.RegisterDelayedCallback(c.recover, 20*time.Minute)
		c.run()
		heard := c.heard()
		if n := len(heard); !slices.Equal(heard[n-2:], []vigil.EventType{triggered, resolved}) || slices.Contains(heard[:n-1], resolved) {
			t.Errorf("heard %v", heard)
		}
	})

	t.Run("PeopleGetOneMessageWhenItIsOver", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelEmail)
		c.answer = func(n int) notify.Outcome {
			if n == 1 {
				return status(451)
			}
			return notify.Outcome{StatusCode: 250}
		}
		c.env.RegisterDelayedCallback(c.recover, 2*time.Second)
		c.run()
		if !slices.Equal(c.heard(), []vigil.EventType{triggered, resolved}) || !c.sent[1].Merged || c.at[1] > 3*time.Second {
			t.Errorf("heard %v at %v", c.heard(), c.at)
		}
	})

	t.Run("APagerIsNotWokenForWhatIsOver", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelPager)
		c.answer = func(int) notify.Outcome { return status(500) }
		c.env.RegisterDelayedCallback(c.recover, 2*time.Second)
		c.run()
		if len(c.sent) != 1 || c.box.Deliveries[0].Status != vigil.DeliverySuperseded || c.box.Deliveries[1].Status != vigil.DeliverySuperseded {
			t.Errorf("heard %v", c.heard())
		}
	})

	t.Run("OthersStopAfterSix", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelChat)
		c.answer = func(int) notify.Outcome { return status(500) }
		c.run()
		if len(c.sent) != 6 {
			t.Errorf("%d attempts", len(c.sent))
		}
	})

	t.Run("WaitsAsLongAsTheReceiverAsks", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.answer = func(n int) notify.Outcome {
			out := status(429)
			out.RetryAfter = 10 * time.Minute
			switch n {
			case 2:
				out.RetryAfter = 100 * time.Hour
			case 3:
				return notify.Outcome{StatusCode: 200}
			}
			return out
		}
		c.run()
		if first, second := c.at[1]-c.at[0], c.at[2]-c.at[1]; first.Round(time.Second) != 10*time.Minute || second.Round(time.Second) != 6*time.Hour {
			t.Errorf("waited %v and %v", first, second)
		}
	})

	t.Run("GoneDisablesTheChannelAndTellsItsOwner", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.answer = func(int) notify.Outcome {
			return notify.Outcome{StatusCode: 410, ErrorCode: notify.CodeGone, Gone: true}
		}
		c.run()
		if len(c.sent) != 1 || c.disabled != 1 || c.box.Deliveries[0].Status != vigil.DeliveryExhausted {
			t.Errorf("%d attempts, told %d times, %s", len(c.sent), c.disabled, c.box.Deliveries[0].Status)
		}
	})

	t.Run("AnAttemptThatDiedCountsAndIsRepeated", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.dies = func(n int) bool { return n == 1 }
		c.run()
		if len(c.sent) != 2 || c.sent[1].Attempt != 2 || c.sent[0].Event != c.sent[1].Event || c.box.Deliveries[0].Failures != 1 {
			t.Errorf("sent %+v", c.sent)
		}
	})

	t.Run("ABusyChannelIsAskedAgainAndNothingCounts", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.busy = 5
		c.run()
		if len(c.sent) != 1 || c.sent[0].Attempt != 1 || c.at[0] < 15*time.Second || c.at[0] > 40*time.Second {
			t.Errorf("sent %d at %v", len(c.sent), c.at)
		}
	})

	t.Run("ARedeliveryCutsTheWaitShortAndDoesNotCount", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.answer = func(n int) notify.Outcome {
			if n < 8 {
				return status(500)
			}
			return notify.Outcome{StatusCode: 200}
		}
		c.env.RegisterDelayedCallback(func() {
			c.box.Deliveries[0].Redeliver = true
			c.env.SignalWorkflow(workflows.SignalRefresh, nil)
		}, 20*time.Second)
		c.run()
		if c.at[2] != 20*time.Second || c.at[3].Round(time.Second) != 35*time.Second {
			t.Errorf("attempts at %v: the third is asked for, the fourth on schedule", c.at)
		}
	})

	t.Run("ADisabledChannelEndsTheWait", func(t *testing.T) {
		t.Parallel()
		c := newCourier(t, vigil.ChannelWebhook)
		c.answer = func(int) notify.Outcome { return status(500) }
		c.env.RegisterDelayedCallback(func() {
			c.box.Usable = false
			c.env.SignalWorkflow(workflows.SignalRefresh, nil)
		}, time.Hour)
		c.run()
		if c.box.Deliveries[0].Status != vigil.DeliveryCanceled || len(c.sent) != 6 {
			t.Errorf("%d attempts, %s", len(c.sent), c.box.Deliveries[0].Status)
		}
	})
}

func TestDeliverySearchAttribute(t *testing.T) {
	t.Parallel()
	c := newCourier(t, vigil.ChannelWebhook)
	c.answer = func(n int) notify.Outcome {
		if n < 5 {
			return status(500)
		}
		return notify.Outcome{StatusCode: 200}
	}
	var shown []string
	c.env.OnUpsertTypedSearchAttributes(mock.MatchedBy(func(set temporal.SearchAttributes) bool {
		value, ok := set.GetKeyword(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeDelivery))
		shown = append(shown, value)
		return ok
	})).Return(nil)
	c.run()
	if want := []string{"retrying", "delivered"}; !slices.Equal(shown, want) {
		t.Errorf("shown %v, want %v", shown, want)
	}
}
