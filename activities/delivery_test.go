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

// desk notes what is done about a delivery, in order.
type desk struct {
	*chatDelivery
	unsettled error
	steps     []string
	bounded   bool // the mail
}

func (d *desk) RecordOutcome(ctx context.Context, set vigil.AttemptOutcome) (vigil.Remaining, error) {
	d.steps = append(d.steps, "settle")
	if d.unsettled != nil {
		return vigil.Remaining{}, d.unsettled
	}
	return d.chatDelivery.RecordOutcome(ctx, set)
}

func (d *desk) DisableChannel(context.Context, uuid.UUID, string) (bool, error) {
	d.steps = append(d.steps, "disable")
	return true, nil
}

func (d *desk) ChannelDisabled(ctx context.Context, _ vigil.Channel) error {
	d.steps = append(d.steps, "mail")
	_, d.bounded = ctx.Deadline()
	return nil
}

// TestGoneReceiver holds that the outcome of the attempt is on record before
// anything that takes time is done about a receiver that is gone.
func TestGoneReceiver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		unsettled error
		want      []string
	}{
		"IsSettledFirst":                    {nil, []string{"settle", "disable", "mail"}},
		"WhoseDeliveryWasDeleted":           {vigil.NotFound("delivery"), []string{"settle", "disable", "mail"}},
		"IsAskedAgainWhenNothingIsOnRecord": {errors.New("away"), []string{"settle"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &desk{unsettled: test.unsettled, chatDelivery: &chatDelivery{
				state: vigil.NextAttemptReady, rest: vigil.DeliveryExhausted,
				outcome: notify.Outcome{StatusCode: 410, ErrorCode: "http_status", Gone: true},
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
