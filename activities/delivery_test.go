package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/activities"
	"vigil/notify"
)

// steppedDelivery records the steps of a delivery, in order.
type steppedDelivery struct {
	*fakeDelivery
	recordErr error
	steps     []string
	bounded   bool // the mail
}

func (d *steppedDelivery) RecordOutcome(ctx context.Context, outcome vigil.AttemptOutcome) (vigil.Remaining, error) {
	d.steps = append(d.steps, "record")
	if d.recordErr != nil {
		return vigil.Remaining{}, d.recordErr
	}
	return d.fakeDelivery.RecordOutcome(ctx, outcome)
}

func (d *steppedDelivery) DisableChannel(context.Context, uuid.UUID, string) (bool, error) {
	d.steps = append(d.steps, "disable")
	return true, nil
}

func (d *steppedDelivery) ChannelDisabled(ctx context.Context, _ vigil.Channel) error {
	d.steps = append(d.steps, "mail")
	_, d.bounded = ctx.Deadline()
	return nil
}

// TestGoneReceiver proves that the outcome of an attempt is stored before the slow
// steps that disable a receiver that is gone.
func TestGoneReceiver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		recordErr error
		want      []string
	}{
		"IsRecordedFirst":                {nil, []string{"record", "disable", "mail"}},
		"WhoseDeliveryWasDeleted":        {vigil.NotFound("delivery"), []string{"record", "disable", "mail"}},
		"IsRetriedWhenNothingIsRecorded": {errors.New("away"), []string{"record"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &steppedDelivery{recordErr: test.recordErr, fakeDelivery: &fakeDelivery{
				state: vigil.NextAttemptReady, rest: vigil.DeliveryExhausted, outcome: notify.Outcome{StatusCode: 410,
					ErrorCode: "http_status", Gone: true},
			}}
			acts := activities.NewDeliveries(activities.DeliveriesOptions{
				Store: d, Channels: d, Notices: d, Schedule: vigil.DefaultRetrySchedule(),
				Random: func() float64 { return 0.5 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			counted(t, 1, acts.Deliver, uuid.New(), uuid.New())
			if !slices.Equal(d.steps, test.want) || d.bounded != slices.Contains(test.want, "mail") {
				t.Errorf("%v, mail bounded: %v, want %v", d.steps, d.bounded, test.want)
			}
		})
	}
}
