// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestDeliveryAnHourOfDowntimeIsOneTriggeredAndOneResolvedInOrder(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.answer = func(int) notify.Outcome {
		if c.env.Now().Sub(c.start) < time.Hour {
			return notify.Outcome{ErrorCode: notify.CodeRefused}
		}
		return notify.Outcome{StatusCode: 204}
	}
	c.env.RegisterDelayedCallback(c.recover, 20*time.Minute)
	c.run()
	sent := c.sentTypes()
	if n := len(sent); !slices.Equal(sent[n-2:], openedAndResolved()) || slices.Contains(sent[:n-1], vigil.EventResolved) {
		t.Errorf("sent %v", sent)
	}
}

func TestDeliveryPeopleGetOneMessageWhenItIsOver(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelEmail)
	c.answer = func(n int) notify.Outcome {
		if n == 1 {
			return status(451)
		}
		return notify.Outcome{StatusCode: 250}
	}
	c.env.RegisterDelayedCallback(c.recover, 2*time.Second)
	c.run()
	if !slices.Equal(c.sentTypes(), openedAndResolved()) || !c.sent[1].Merged || c.at[1] > 3*time.Second {
		t.Errorf("sent %v at %v", c.sentTypes(), c.at)
	}
}

// A pager is not woken for what is over, but an attempt whose answer was lost may have
// woken it.
func TestDeliveryAPagerGetsTheEndOfWhatItMayHave(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelPager)
	c.answer = func(n int) notify.Outcome {
		if n == 1 {
			return status(500)
		}
		return notify.Outcome{StatusCode: 202}
	}
	c.env.RegisterDelayedCallback(c.recover, 2*time.Second)
	c.run()
	if !slices.Equal(c.sentTypes(), openedAndResolved()) || c.box.Deliveries[0].Status != vigil.DeliverySuperseded {
		t.Errorf("sent %v", c.sentTypes())
	}
}

func TestDeliveryGoneDisablesTheChannelAndNotifiesItsOwner(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.answer = func(int) notify.Outcome {
		return notify.Outcome{StatusCode: 410, ErrorCode: notify.CodeGone, Gone: true}
	}
	c.run()
	if len(c.sent) != 1 || c.disabled != 1 || c.box.Deliveries[0].Status != vigil.DeliveryExhausted {
		t.Errorf("%d attempts, disabled %d times, %s", len(c.sent), c.disabled, c.box.Deliveries[0].Status)
	}
}

func TestDeliveryARedeliveryCutsTheWaitShortAndDoesNotCount(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
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
}

func TestDeliveryADisabledChannelEndsTheWait(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.answer = func(int) notify.Outcome { return status(500) }
	c.env.RegisterDelayedCallback(func() {
		c.box.Usable = false
		c.env.SignalWorkflow(workflows.SignalRefresh, nil)
	}, time.Hour)
	c.run()
	if c.box.Deliveries[0].Status != vigil.DeliveryCanceled || len(c.sent) != 6 {
		t.Errorf("%d attempts, %s", len(c.sent), c.box.Deliveries[0].Status)
	}
}

func TestDeliveryThatIsQueuedStartsNoTimer(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, queued, queued, crashed, delivered)
	timers := 0
	d.env.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
	for _, after := range []time.Duration{time.Hour, 2 * time.Hour} {
		d.env.RegisterDelayedCallback(d.look, after)
	}
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{0, time.Hour, 2 * time.Hour, 2*time.Hour + time.Second}
	if !slices.Equal(d.at, want) || timers != 1 {
		t.Errorf("attempts at %v with %d timers, want %v with one, after an attempt that crashed", d.at, timers, want)
	}
}

// The signal that admits a delivery may arrive before the activity that queued it has
// returned.
func TestDeliveryThatIsQueuedSeesASignalOfTheSameInstant(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t)
	d.script = append(d.script, func() (activities.DeliveryReport, error) {
		d.look()
		return queued()
	}, delivered)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.at, []time.Duration{0, 0}) {
		t.Errorf("attempts at %v, want the second at once", d.at)
	}
}

func TestDeliveryThatIsQueuedEndsWhenItIsCanceled(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, queued)
	d.env.RegisterDelayedCallback(d.env.CancelWorkflow, time.Hour)
	if err := d.run(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v", err)
	}
}
