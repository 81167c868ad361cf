// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestDeliverySetsItsSearchAttributeOncePerStatus(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.answer = func(n int) notify.Outcome {
		if n < 5 {
			return status(500)
		}
		return notify.Outcome{StatusCode: 200}
	}
	shown := c.env.keywords(workflows.AttributeDelivery)
	c.run()
	if want := []string{"retrying", "delivered"}; !slices.Equal(*shown, want) {
		t.Errorf("shown %v, want %v", *shown, want)
	}
}

func TestDeliveryContinuesAsNewAfter500Attempts(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, failed(3), crashed)
	in := continued[workflows.DeliveryInput](t, d.run(), "Delivery")
	want := d.input
	want.Status = "retrying"
	if len(d.at) != 500 || in != want {
		t.Errorf("%d attempts, continues with %+v, want 500 and %+v", len(d.at), in, want)
	}
}

func TestDeliveryContinuesAsNewWhenTheServerSuggestsIt(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, failed(1))
	d.env.SetContinueAsNewSuggested(true)
	in := continued[workflows.DeliveryInput](t, d.run(), "Delivery")
	if len(d.at) != 1 || in != d.input {
		t.Errorf("%d attempts, continues with %+v, want one and %+v", len(d.at), in, d.input)
	}
	if took := seconds(d.env.Now().Sub(envStart)); took != time.Hour {
		t.Errorf("continued after %v, want the hour until the next attempt", took)
	}
}

func TestDeliveryThatIsDoneDoesNotContinueAsNew(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, delivered)
	d.env.SetContinueAsNewSuggested(true)
	if err := d.run(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// The run that follows begins with an attempt, which reads everything.
func TestDeliveryLeavesNoLookBehindWhenItContinuesAsNew(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t)
	d.script = append(d.script, func() (activities.DeliveryReport, error) {
		d.look()
		return failed(1)()
	})
	d.env.SetContinueAsNewSuggested(true)
	continued[workflows.DeliveryInput](t, d.run(), "Delivery")
	if warnings := d.env.logs.warnings(); len(warnings) != 0 {
		t.Errorf("logged %q", warnings)
	}
}

// The server must never retry an attempt: each is on record with its number
// before it is made.
func TestDeliveryMakesEveryAttemptOnce(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, crashed, failed(1), delivered)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	options := d.env.named("Deliver")
	for i, o := range options {
		if o.RetryPolicy == nil || o.RetryPolicy.MaximumAttempts != 1 || o.StartToCloseTimeout != 40*time.Second {
			t.Errorf("attempt %d has the options %+v, want one attempt within 40s", i, o)
		}
	}
	if len(options) != 3 || len(d.at) != 3 {
		t.Errorf("%d attempts were made of %d that were scheduled, want three", len(d.at), len(options))
	}
}

func TestDeliveryAsksForItsIncidentAndChannel(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, failed(1), delivered)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	want := [2]uuid.UUID{d.input.IncidentID, d.input.ChannelID}
	if !slices.Equal(d.asked, [][2]uuid.UUID{want, want}) {
		t.Errorf("asked for %v, want %v twice", d.asked, want)
	}
}

func TestDeliveryPausesLongerAfterEachAttemptWithoutOutcome(t *testing.T) {
	t.Parallel()
	again := reports(activities.DeliveryReport{Status: vigil.DeliveryPending})
	d := newDeliveryRun(t, crashed, crashed, crashed, crashed, crashed, crashed, again, crashed, delivered)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	var pauses []time.Duration
	for i, at := range d.at[1:] {
		pauses = append(pauses, at-d.at[i])
	}
	const s = time.Second
	if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 10 * s, 10 * s, 0, s}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
}

func TestDeliveryLogsAnAttemptWithoutOutcome(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, crashed, crashed, delivered)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	warnings := d.env.logs.warnings()
	if len(warnings) != 2 || !contains(warnings[0], " error=", "the worker is gone", "pause=1s") || !contains(warnings[1], "pause=2s") {
		t.Errorf("logged %q", warnings)
	}
}

func TestDeliveryEndsWhenItIsCanceled(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"DuringAnAttempt": 10 * time.Second, "BetweenTwo": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveryRun(t, failed(1))
			d.takes = time.Minute
			d.env.RegisterDelayedCallback(d.env.CancelWorkflow, after)
			if err := d.run(); !temporal.IsCanceledError(err) {
				t.Errorf("ended with %v, want that it was canceled", err)
			}
			if took := seconds(d.env.Now().Sub(envStart)); took != after {
				t.Errorf("ended after %v, want %v", took, after)
			}
		})
	}
}

func TestDeliveryTakesALookBeforeItsFirstAttemptAsDone(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, delivered)
	d.env.RegisterDelayedCallback(d.look, 0)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	if len(d.at) != 1 {
		t.Errorf("%d attempts, want one", len(d.at))
	}
}

func TestDeliveryLooksAgainForNewsDuringAnAttempt(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]func() (activities.DeliveryReport, error){"ThatIsTheLast": delivered, "ThatFailed": failed(1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveryRun(t)
			d.script = append(d.script, func() (activities.DeliveryReport, error) {
				d.look()
				return during()
			}, delivered)
			if err := d.run(); err != nil {
				t.Fatal(err)
			}
			if len(d.at) != 2 || d.at[1] != 0 {
				t.Errorf("attempts at %v, want two at once", d.at)
			}
		})
	}
}

func TestDeliveryTriesAtOnceWhenItsNextAttemptIsOverdue(t *testing.T) {
	t.Parallel()
	overdue := reports(activities.DeliveryReport{Status: vigil.DeliveryPending, Next: envStart.Add(-time.Hour), Pause: time.Hour})
	d := newDeliveryRun(t, overdue, delivered)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	if len(d.at) != 2 || d.at[1] != 0 {
		t.Errorf("attempts at %v, want two at once", d.at)
	}
}

func TestDeliveryShowsItsStatusInItsSearchAttribute(t *testing.T) {
	t.Parallel()
	exhausted := activities.DeliveryReport{Status: vigil.DeliveryExhausted, Failures: 12}
	last := exhausted
	last.Done = true
	type script = []func() (activities.DeliveryReport, error)
	for name, test := range map[string]struct {
		before string
		script script
		want   []string
	}{
		"FromTheThirdFailureOn":     {"", script{failed(1), failed(2), failed(3), failed(4), delivered}, []string{"retrying", "delivered"}},
		"NotAfterTwoFailures":       {"", script{failed(1), failed(2), delivered}, []string{"delivered"}},
		"NotOnceTheMessageIsEnded":  {"", script{reports(exhausted), reports(last)}, []string{"exhausted"}},
		"NotAgainAfterContinuing":   {"retrying", script{failed(4), delivered}, []string{"delivered"}},
		"NotWhatIsShownAlready":     {"delivered", script{delivered}, nil},
		"NotWhenThereIsNoMessage":   {"", script{reports(activities.DeliveryReport{Done: true})}, nil},
		"NotWithoutAMessageAnyMore": {"retrying", script{reports(activities.DeliveryReport{Done: true})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveryRun(t, test.script...)
			d.input.Status = test.before
			shown := d.env.keywords(workflows.AttributeDelivery)
			if err := d.run(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(*shown, test.want) {
				t.Errorf("shown %v, want %v", *shown, test.want)
			}
		})
	}
}

func TestDeliveryFailsWhenItCannotShowItsStatus(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]func() (activities.DeliveryReport, error){"Retrying": failed(3), "Delivered": delivered} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveryRun(t, report)
			d.env.refusal = errors.New("no such attribute")
			if err := d.run(); err == nil || !strings.Contains(err.Error(), "no such attribute") {
				t.Errorf("ended with %v", err)
			}
			if len(d.at) != 1 {
				t.Errorf("%d attempts, want one", len(d.at))
			}
		})
	}
}

func TestDeliveryShowsOperatorsWhereItStands(t *testing.T) {
	t.Parallel()
	d := newDeliveryRun(t, failed(1), queued, delivered)
	var shown []string
	show := func() {
		details, err := d.env.details()
		if err != nil {
			t.Error(err)
		}
		shown = append(shown, details)
	}
	d.env.RegisterDelayedCallback(show, time.Minute)
	d.env.RegisterDelayedCallback(show, time.Hour+500*time.Millisecond)
	d.env.RegisterDelayedCallback(d.look, 2*time.Hour)
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	show()
	const first = "it failed, next attempt at 2026-03-01T01:00:00Z"
	if want := []string{first, first, "**delivered**"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
}
