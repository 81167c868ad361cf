// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// steppedDelivery records the steps of a delivery, in order.
type steppedDelivery struct {
	*fakeDelivery
	recordErr error
	recovers  int // with which call the store answers
	steps     []string
	outcome   vigil.AttemptOutcome
}

func (d *steppedDelivery) RecordOutcome(ctx context.Context, outcome vigil.AttemptOutcome) (vigil.Remaining, error) {
	d.steps, d.outcome = append(d.steps, "record"), outcome
	if d.recordErr != nil && len(d.steps) != d.recovers {
		return vigil.Remaining{}, d.recordErr
	}
	return d.fakeDelivery.RecordOutcome(ctx, outcome)
}

func (d *steppedDelivery) DisableChannel(context.Context, uuid.UUID, string) (bool, error) {
	d.steps = append(d.steps, "disable")
	return true, nil
}

// TestGoneReceiver proves that the outcome of an attempt is stored before the step
// that disables a receiver that is gone.
func TestGoneReceiver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		recordErr error
		recovers  int
		former    bool
		want      []string
	}{
		"IsRecordedFirst":                {nil, 0, false, []string{"record", "disable"}},
		"WhoseDeliveryWasDeleted":        {vigil.NotFound("delivery"), 0, false, []string{"record", "disable"}},
		"IsRecordedWhenTheStoreAnswers":  {errors.New("away"), 3, false, []string{"record", "disable"}},
		"IsRetriedWhenNothingIsRecorded": {errors.New("away"), 0, false, []string{"record"}},
		"ThatTheChannelHasLeft":          {nil, 0, true, []string{"record"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &steppedDelivery{recordErr: test.recordErr, recovers: test.recovers, fakeDelivery: &fakeDelivery{
					state: vigil.NextAttemptReady, rest: vigil.DeliveryExhausted, former: test.former,
					outcome: notify.Outcome{StatusCode: 410, ErrorCode: "http_status", Gone: true},
				}}
				acts := activities.NewDeliveries(activities.DeliveriesOptions{
					Store: d, Channels: d, Schedule: vigil.DefaultRetrySchedule(),
					Random: func() float64 { return 0.5 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
				})
				counted(t, 1, acts.Deliver, uuid.New(), uuid.New())
				if !slices.Equal(slices.Compact(d.steps), test.want) || d.outcome.Gone == test.former || d.outcome.Former != test.former {
					t.Errorf("%v with %+v, want %v", d.steps, d.outcome, test.want)
				}
			})
		})
	}
}

// recording keeps the outcomes of attempts.
type recording struct {
	*fakeDelivery
	outcomes []vigil.AttemptOutcome
}

func (r *recording) RecordOutcome(ctx context.Context, outcome vigil.AttemptOutcome) (vigil.Remaining, error) {
	r.outcomes = append(r.outcomes, outcome)
	return r.fakeDelivery.RecordOutcome(ctx, outcome)
}

// TestMailThatIsHeldBack holds that a message waits for a quota of mails, and that one
// without a confirmed recipient ends.
func TestMailThatIsHeldBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		outcome notify.Outcome
		next    *time.Time
	}{
		"ByAQuota":       {notify.Outcome{ErrorCode: notify.CodeQuota, RetryAfter: 40 * time.Minute}, new(now.Add(40 * time.Minute))},
		"ByItsRecipient": {notify.Outcome{ErrorCode: notify.CodeUnconfirmed, Permanent: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &recording{fakeDelivery: &fakeDelivery{
				state: vigil.NextAttemptReady, rest: vigil.DeliveryPending, outcome: test.outcome,
			}}
			acts := activities.NewDeliveries(activities.DeliveriesOptions{
				Store: d, Channels: d, Schedule: vigil.DefaultRetrySchedule(),
				Random: func() float64 { return 0.5 }, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
			})
			counted(t, 1, acts.Deliver, uuid.New(), uuid.New())
			if len(d.outcomes) != 1 || d.outcomes[0].Attempt.ErrorCode != test.outcome.ErrorCode {
				t.Fatalf("outcomes %+v", d.outcomes)
			}
			next := d.outcomes[0].NextAttemptAt
			if (next == nil) != (test.next == nil) || next != nil && !next.Equal(*test.next) {
				t.Errorf("the next attempt is at %v, want %v", next, test.next)
			}
		})
	}
}

// admitting admits deliveries with each claim and outcome.
type admitting struct {
	*fakeDelivery
	admitted []vigil.PendingDelivery
	sendErr  error

	mu   sync.Mutex
	sent []vigil.PendingDelivery
}

func (a *admitting) ClaimAttempt(ctx context.Context, incident, channel uuid.UUID) (vigil.NextAttempt, error) {
	next, err := a.fakeDelivery.ClaimAttempt(ctx, incident, channel)
	next.Admitted = a.admitted[:1]
	return next, err
}

func (a *admitting) RecordOutcome(ctx context.Context, outcome vigil.AttemptOutcome) (vigil.Remaining, error) {
	rest, err := a.fakeDelivery.RecordOutcome(ctx, outcome)
	rest.Admitted = a.admitted[1:]
	return rest, err
}

func (a *admitting) Send(_ context.Context, delivery vigil.PendingDelivery) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = append(a.sent, delivery)
	return a.sendErr
}

// TestAdmittedDeliveriesAreSignaled proves that an attempt signals the deliveries that
// it admits, and that a signal that fails does not fail the attempt.
func TestAdmittedDeliveriesAreSignaled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state   vigil.NextAttemptState
		sendErr error
		want    int
	}{
		"OfAnAttempt":                 {vigil.NextAttemptReady, nil, 3},
		"OfAnAttemptWithoutOutcome":   {vigil.NextAttemptUnknown, nil, 3},
		"OfADeliveryThatWaits":        {vigil.NextAttemptBusy, nil, 1},
		"OfADeliveryThatHasNoMessage": {vigil.NextAttemptNone, nil, 1},
		"WhileTemporalIsAway":         {vigil.NextAttemptReady, errors.New("away"), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &admitting{
				fakeDelivery: &fakeDelivery{state: test.state, rest: vigil.DeliveryDelivered}, sendErr: test.sendErr,
				admitted: []vigil.PendingDelivery{{IncidentID: uuid.New()}, {IncidentID: uuid.New()}, {IncidentID: uuid.New()}},
			}
			acts := activities.NewDeliveries(activities.DeliveriesOptions{
				Store: d, Workflows: d, Channels: d.fakeDelivery, Schedule: vigil.DefaultRetrySchedule(),
				Random: func() float64 { return 0.5 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			counted(t, 1, acts.Deliver, uuid.New(), uuid.New())
			want := slices.Clone(d.admitted[:test.want])
			for _, list := range [][]vigil.PendingDelivery{want, d.sent} { // those of one step are signaled together
				slices.SortFunc(list, func(a, b vigil.PendingDelivery) int { return bytes.Compare(a.IncidentID[:], b.IncidentID[:]) })
			}
			if !slices.Equal(d.sent, want) {
				t.Errorf("signaled %v, want %v", d.sent, want)
			}
		})
	}
}
