// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// deliveryRun runs the workflow of a delivery whose attempts are scripted, in
// skipped time.
type deliveryRun struct {
	*testing.T
	env   *testEnv
	input workflows.DeliveryInput
	// script answers attempt i; the last entry answers all that follow.
	script []func() (activities.DeliveryReport, error)
	// at is when each attempt was made, relative to the start, and asked the
	// incident and the channel that it is for.
	at    []time.Duration
	asked [][2]uuid.UUID
	// takes is how long an attempt takes.
	takes time.Duration
}

func newDeliveryRun(t *testing.T, script ...func() (activities.DeliveryReport, error)) *deliveryRun {
	t.Helper()
	d := &deliveryRun{T: t, env: newTestEnv(), script: script}
	d.input = workflows.DeliveryInput{IncidentID: uuid.New(), ChannelID: uuid.New()}
	d.env.RegisterWorkflow(workflows.Delivery)
	var acts *activities.Deliveries
	d.env.RegisterActivityWithOptions(acts.Deliver, activity.RegisterOptions{Name: "Deliver"})
	d.env.OnActivity("Deliver", mock.Anything, mock.Anything, mock.Anything).Return(
		func(_ context.Context, incident, channel uuid.UUID) (activities.DeliveryReport, error) {
			n := len(d.at)
			d.at = append(d.at, seconds(d.env.Now().Sub(envStart)))
			d.asked = append(d.asked, [2]uuid.UUID{incident, channel})
			return d.script[min(n, len(d.script)-1)]()
		}).AfterFn(func() time.Duration { return d.takes })
	return d
}

func (d *deliveryRun) run() error {
	d.Helper()
	d.env.ExecuteWorkflow(workflows.Delivery, d.input)
	if !d.env.IsWorkflowCompleted() {
		d.Fatal("the delivery has not completed")
	}
	return d.env.GetWorkflowError()
}

func (d *deliveryRun) look() { d.env.SignalWorkflow(workflows.SignalRefresh, nil) }

func reports(report activities.DeliveryReport) func() (activities.DeliveryReport, error) {
	return func() (activities.DeliveryReport, error) { return report, nil }
}

// failed is an attempt that failed for the nth time and is to be repeated after
// an hour.
func failed(n int) func() (activities.DeliveryReport, error) {
	return reports(activities.DeliveryReport{
		Status: vigil.DeliveryPending, Failures: n, Next: envStart.Add(time.Duration(n) * time.Hour), Text: "it failed",
	})
}

func delivered() (activities.DeliveryReport, error) {
	return activities.DeliveryReport{Done: true, Status: vigil.DeliveryDelivered, Text: "**delivered**"}, nil
}

func crashed() (activities.DeliveryReport, error) {
	return activities.DeliveryReport{}, errors.New("the worker is gone")
}

func queued() (activities.DeliveryReport, error) {
	return activities.DeliveryReport{Queued: true}, nil
}
