// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package dispatch_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/workers"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// hangingStore is a store whose attempts hang until the test lets them go.
type hangingStore struct {
	started chan uuid.UUID // incidents
	release chan struct{}
}

func (h *hangingStore) ClaimAttempt(ctx context.Context, incident, _ uuid.UUID) (vigil.NextAttempt, error) {
	h.started <- incident
	select {
	case <-h.release:
		return vigil.NextAttempt{State: vigil.NextAttemptNone, Last: vigil.DeliveryDelivered}, nil
	case <-ctx.Done():
		return vigil.NextAttempt{}, ctx.Err()
	}
}

func (h *hangingStore) RecordOutcome(context.Context, vigil.AttemptOutcome) (vigil.Remaining, error) {
	return vigil.Remaining{}, nil
}

func (h *hangingStore) FreezeBody(_ context.Context, _ uuid.UUID, body []byte) ([]byte, error) {
	return body, nil
}

func (h *hangingStore) DeliveryChannel(context.Context, vigil.Delivery) (vigil.Channel, bool, error) {
	return vigil.Channel{}, false, vigil.NotFound("channel")
}

func (h *hangingStore) DisableChannel(context.Context, uuid.UUID, string) (bool, error) {
	return false, nil
}

func (h *hangingStore) Parse(vigil.ChannelType, json.RawMessage) (notify.Sender, error) {
	return nil, vigil.Errorf(vigil.CodeInvalid, "no sender")
}

// TestDeliveriesOfManyOrganizations proves that when every place of the delivery worker
// is taken, the next one goes to an organization that has none, not to the delivery that
// came first.
func TestDeliveriesOfManyOrganizations(t *testing.T) {
	t.Parallel()
	const slots, many = 4, 40
	hangs := &hangingStore{started: make(chan uuid.UUID, 2*many), release: make(chan struct{})}
	p := workerstest.StartWith(t, func(o *workers.ControlOptions) {
		o.DeliverySlots = slots
		o.Deliveries = activities.NewDeliveries(activities.DeliveriesOptions{
			Store: hangs, Channels: hangs, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
	}, "eu-central-fra")
	send := func(incident, org uuid.UUID) {
		delivery := vigil.PendingDelivery{IncidentID: incident, ChannelID: uuid.New(), OrgID: org}
		p.OK(p.Incidents.Send(t.Context(), delivery))
		awaitAttempt(p, vigil.DeliveryWorkflowID(delivery.IncidentID, delivery.ChannelID))
	}
	crowd := uuid.New()
	for range many {
		send(uuid.New(), crowd)
	}
	next := func() uuid.UUID {
		select {
		case incident := <-hangs.started:
			return incident
		case <-time.After(time.Minute):
			t.Fatal("no attempt was started within a minute")
			return uuid.Nil
		}
	}
	for range slots {
		next()
	}
	alone := uuid.New()
	send(alone, uuid.New())
	before := 0
	for {
		hangs.release <- struct{}{}
		if next() == alone {
			break
		}
		before++
	}
	close(hangs.release)
	t.Logf("%d attempts of an organization with %d waiting came before that of another", before, many-slots)
	if before > slots {
		t.Errorf("%d attempts came first, want at most %d", before, slots)
	}
}

// awaitAttempt waits until the workflow of a delivery has scheduled an attempt.
func awaitAttempt(p *workerstest.ControlPlane, workflow string) {
	p.Helper()
	timingtest.Eventually(p, time.Minute, workflow+" has scheduled an attempt", func() bool {
		described, err := p.Temporal.DescribeWorkflowExecution(p.Context(), workflow, "")
		p.OK(err)
		return len(described.GetPendingActivities()) > 0
	})
}
