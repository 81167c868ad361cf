package workers

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/activities"
	"vigil/workflows"
)

// Sizes of the control and delivery workers. A delivery that waits for its
// receiver holds an activity slot, so there are many.
const (
	controlSlots  = 200
	deliverySlots = 1000
)

// ControlOptions are what the control worker runs. Name is that of the process,
// and GaveUp, which may be nil, hears of a worker that never polls again.
type ControlOptions struct {
	Name       string
	Incidents  *activities.Incidents
	Deliveries *activities.Deliveries
	GaveUp     func(error)
}

// Control runs the workers that serve no region: the one that decides about
// incidents, and on a queue of its own the one that tells channels, so that a
// receiver that hangs never keeps an incident waiting.
type Control struct {
	workers []worker.Worker
}

// NewControl returns the workers, not started.
func NewControl(temporal client.Client, opts ControlOptions) *Control {
	sizeCache()
	control := worker.New(temporal, vigil.ControlQueue, controlOptions(opts, controlSlots))
	control.RegisterWorkflowWithOptions(workflows.Incident, workflow.RegisterOptions{Name: "Incident"})
	for name, act := range map[string]any{
		activities.NameReadContext: opts.Incidents.ReadContext, "Open": opts.Incidents.Open, "Acknowledge": opts.Incidents.Acknowledge,
		"Resolve": opts.Incidents.Resolve, "KeepLatch": opts.Incidents.KeepLatch,
	} {
		control.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}
	delivery := worker.New(temporal, vigil.DeliveryQueue, controlOptions(opts, deliverySlots))
	delivery.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: "Delivery"})
	delivery.RegisterActivityWithOptions(opts.Deliveries.Deliver, activity.RegisterOptions{Name: "Deliver"})
	return &Control{workers: []worker.Worker{control, delivery}}
}

func controlOptions(opts ControlOptions, slots int) worker.Options {
	options := regionOptions(opts.Name, opts.GaveUp)
	options.MaxConcurrentActivityExecutionSize = slots
	return options
}

// Start begins to poll.
func (c *Control) Start() error {
	for i, w := range c.workers {
		if err := w.Start(); err != nil {
			stopAll(c.workers[:i])
			return err
		}
	}
	return nil
}

// Stop returns when what is under way has ended, after about ten seconds at
// most. An attempt that was cut short is settled as unknown later.
func (c *Control) Stop() { stopAll(c.workers) }
