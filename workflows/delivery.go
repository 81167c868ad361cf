// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

const (
	// attemptTimeout bounds an attempt with its database queries. An attempt whose
	// worker died is detected after it.
	attemptTimeout = 40 * time.Second
	// failurePause is the longest pause after an activity that failed, or that found nothing due yet;
	// the pauses double from a second.
	failurePause = 10 * time.Second
	// maxAttempts bounds a history before it is continued as new.
	maxAttempts = 500
	// stuckFailures is the number of failures from which the search attribute shows a
	// delivery as retrying.
	stuckFailures = 3
)

// statusRetrying is the search attribute of a delivery that keeps failing.
const statusRetrying = "retrying"

// DeliveryInput names an incident and a channel to notify of it.
type DeliveryInput struct {
	IncidentID uuid.UUID `json:"incident_id"`
	ChannelID  uuid.UUID `json:"channel_id"`
	// Status is what the search attribute shows; empty: pending.
	Status string `json:"status,omitempty"`
}

// Delivery notifies one channel of one incident: message after message in the order
// of the events, each until it arrives or its attempts are exhausted. What to send,
// and when, is read from Postgres before every attempt. SignalRefresh ends a wait
// early, because the incident ended, a redelivery was requested or the channel is
// gone. A delivery that is queued behind others waits for that signal only. The
// workflow completes when no delivery is pending.
func Delivery(ctx workflow.Context, in DeliveryInput) error {
	d := &delivery{in: in, refreshSignals: workflow.GetSignalChannel(ctx, SignalRefresh), pause: minPause}
	for n := 1; ; n++ {
		d.drainRefreshSignals()
		report, err := d.attempt(ctx)
		if err != nil {
			return err
		}
		full := n >= maxAttempts || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		switch {
		case d.refreshSignals.Len() > 0:
		case report.Done:
			return d.show(ctx, string(report.Status))
		default:
			if err := d.wait(ctx, report); err != nil {
				return err
			}
		}
		if full {
			d.drainRefreshSignals() // the next run begins with an attempt
			return workflow.NewContinueAsNewError(ctx, Delivery, d.in)
		}
	}
}

// delivery is the state of a run.
type delivery struct {
	in             DeliveryInput
	refreshSignals workflow.ReceiveChannel
	pause          time.Duration // after a failed activity, or one that made no attempt
	trace          string        // of the incident, for operators
}

// drainRefreshSignals discards pending signals: the next attempt reads everything.
func (d *delivery) drainRefreshSignals() {
	for d.refreshSignals.ReceiveAsync(nil) {
		continue
	}
}

// attempt makes the next attempt that is due, if there is one.
func (d *delivery) attempt(ctx workflow.Context) (activities.DeliveryReport, error) {
	var acts *activities.Deliveries
	var report activities.DeliveryReport
	once := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: attemptTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	err := workflow.ExecuteActivity(once, acts.Deliver, d.in.IncidentID, d.in.ChannelID).Get(ctx, &report)
	switch {
	case temporal.IsCanceledError(err):
		return report, err
	case err != nil:
		workflow.GetLogger(ctx).Warn("attempt has no outcome", "error", err, "pause", d.pause)
		report = activities.DeliveryReport{Pause: d.backoff(failurePause)}
	case report.Status != "" || report.Queued:
		d.pause = minPause
	}
	if report.Failures >= stuckFailures && report.Status == vigil.DeliveryPending {
		if err := d.show(ctx, statusRetrying); err != nil {
			return report, err
		}
	}
	d.describe(ctx, report)
	return report, nil
}

// backoff returns the pause and doubles the next one, up to limit.
func (d *delivery) backoff(limit time.Duration) time.Duration {
	pause := d.pause
	d.pause = min(2*d.pause, limit)
	return pause
}

// wait waits for the next attempt or a refresh signal. A queued delivery has no timer:
// each one would be work for the server while a receiver hangs.
func (d *delivery) wait(ctx workflow.Context, report activities.DeliveryReport) error {
	signaled := func() bool { return d.refreshSignals.Len() > 0 }
	if report.Queued {
		return workflow.Await(ctx, signaled)
	}
	pause := report.Pause
	if !report.Next.IsZero() {
		pause = report.Next.Sub(workflow.Now(ctx))
	}
	// The clock that judges what is due may differ from Temporal's: without the pause a delivery that
	// is due by one alone would ask without end. A report without Wait is of a history from before.
	if report.Wait > 0 {
		pause = min(report.Wait, max(pause, d.backoff(failurePause)))
	}
	if pause <= 0 {
		return nil
	}
	_, err := workflow.AwaitWithTimeout(ctx, pause, signaled)
	return err
}

// show sets the search attribute of the delivery's status. It writes changes only,
// since each costs a visibility row.
func (d *delivery) show(ctx workflow.Context, status string) error {
	if status == "" || status == d.in.Status {
		return nil
	}
	d.in.Status = status
	return workflow.UpsertTypedSearchAttributes(ctx,
		temporal.NewSearchAttributeKeyKeyword(AttributeDelivery).ValueSet(status))
}

func (d *delivery) describe(ctx workflow.Context, report activities.DeliveryReport) {
	text := report.Text
	if !report.Next.IsZero() {
		text += fmt.Sprintf(", next attempt at %s", report.Next.Format(time.RFC3339))
	}
	if report.TraceID != "" {
		d.trace = report.TraceID
	}
	if text != "" && d.trace != "" {
		text += "\n\ntrace " + d.trace
	}
	if text != "" {
		workflow.SetCurrentDetails(ctx, text)
	}
}
