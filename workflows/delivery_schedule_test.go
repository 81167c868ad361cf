// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestDeliveryArrivesAtOnce(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.run()
	if len(c.sent) != 1 || c.at[0] != 0 || c.sent[0].Attempt != 1 || string(c.sent[0].Envelope) != "envelope" {
		t.Errorf("sent %+v at %v", c.sent, c.at)
	}
}

func TestDeliveryTheWholeScheduleTakesSeventyFiveHours(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
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
}

func TestDeliveryOthersStopAfterSix(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelChat)
	c.answer = func(int) notify.Outcome { return status(500) }
	c.run()
	if len(c.sent) != 6 {
		t.Errorf("%d attempts", len(c.sent))
	}
}

func TestDeliveryWaitsAsLongAsTheReceiverAsks(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
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
	first, second := seconds(c.at[1]-c.at[0]), seconds(c.at[2]-c.at[1])
	if first != 10*time.Minute || second != 6*time.Hour {
		t.Errorf("waited %v and %v", first, second)
	}
}

func TestDeliveryWaitsForItsTurnWithoutCountingAnAttempt(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.busy = 2
	for _, after := range []time.Duration{10 * time.Minute, 3 * time.Hour} {
		c.env.RegisterDelayedCallback(func() { c.env.SignalWorkflow(workflows.SignalRefresh, nil) }, after)
	}
	c.run()
	if len(c.sent) != 1 || c.sent[0].Attempt != 1 || c.at[0] != 3*time.Hour {
		t.Errorf("sent %d at %v", len(c.sent), c.at)
	}
}

func TestDeliveryRepeatsAndCountsAnAttemptThatCrashed(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.crashes = func(n int) bool { return n == 1 }
	c.run()
	if len(c.sent) != 2 || c.sent[1].Attempt != 2 || c.sent[0].Event != c.sent[1].Event || c.box.Deliveries[0].Failures != 1 {
		t.Errorf("sent %+v", c.sent)
	}
}

// TestDeliveryKeepsToItsScheduleWhenClocksDiffer tests that a clock which differs from Temporal's makes
// no attempt early or late, and few questions for one that is not due.
func TestDeliveryKeepsToItsScheduleWhenClocksDiffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		behind time.Duration
		asked  int // for each attempt, at most
	}{
		"AFewMillisecondsBehind": {3 * time.Millisecond, 2},
		"SecondsBehind":          {5 * time.Second, 5},
		"AMinuteBehind":          {time.Minute, 11},
		"AMinuteAhead":           {-time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveryTest(t, vigil.ChannelChat)
			d.behind = c.behind
			d.answer = func(int) notify.Outcome { return status(500) }
			d.run()
			if len(d.at) != 6 {
				t.Fatalf("%d attempts, want six", len(d.at))
			}
			at := time.Duration(0)
			for i, wait := range vigil.DefaultRetrySchedule()[:5] {
				at += wait
				if off := d.at[i+1] - at; off < 0 || off > time.Second {
					t.Errorf("attempt %d came after %v, want %v", i+2, d.at[i+1], at)
				}
			}
			if d.claims > 6*c.asked {
				t.Errorf("asked %d times for six attempts, want at most %d", d.claims, 6*c.asked)
			}
		})
	}
}
