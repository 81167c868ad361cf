// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"cmp"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// Activity slots of the control and delivery workers. A delivery holds one while it
// waits for its receiver, so there are many. So does a drill while it is followed; those beyond
// its slots take turns.
const (
	controlSlots  = 200
	deliverySlots = 1000
	drillSlots    = 200
)

// Workflow tasks that the control worker runs at a time, of incidents and of deliveries.
// They never wait, so a few keep the processors busy, and when hundreds of incidents open
// together the rest of them waits in its task queue: what Temporal does for the loops is not
// behind all of it.
const (
	incidentTasks = 8
	deliveryTasks = 16
)

// Polls of each of these workers that are open, for workflow tasks and for activities, most of which Temporal gives a worker with
// the answer to a workflow task.
const (
	controlTaskPolls     = 5
	controlActivityPolls = 2
)

// nameFollowDrill is the activity that follows a drill.
const nameFollowDrill = "FollowDrill"

// ControlOptions configure the control worker. Incidents, Deliveries and Recoveries are required.
type ControlOptions struct {
	Name       string // of the process, shown as the worker's identity
	Incidents  *activities.Incidents
	Deliveries *activities.Deliveries
	Recoveries *activities.Recoveries
	OnFatal    func(error)        // receives the error of a worker that stops polling permanently; nil ignores it
	Deployment Deployment         // the zero value is unversioned
	Drills     *activities.Drills // nil: drills are left to others
	// TurnRate is the budget of turns a second of the process; 0: there is none.
	TurnRate float64
	// DeliverySlots is how many attempts of deliveries the process makes at a time; 0
	// means 1,000.
	DeliverySlots int
}

// Control runs the workers that serve no region: one for incidents, and on queues of their own
// one for deliveries and one that follows drills, so that neither a receiver that hangs nor many
// drills delay an incident.
type Control struct {
	workers []worker.Worker
}

// NewControl returns the workers; Start starts them.
func NewControl(temporal client.Client, opts ControlOptions) *Control {
	sizeCache(opts.TurnRate)
	control := worker.New(temporal, vigil.ControlQueue, controlOptions(opts, controlSlots, incidentTasks))
	control.RegisterWorkflowWithOptions(workflows.Incident, registered("Incident"))
	for name, act := range map[string]any{
		activities.NameReadContext: opts.Incidents.ReadContext, "Open": opts.Incidents.Open, "Acknowledge": opts.Incidents.Acknowledge,
		"Resolve": opts.Incidents.Resolve, "KeepLatch": opts.Incidents.KeepLatch, "ChangeRules": opts.Incidents.ChangeRules,
	} {
		control.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}
	all := []worker.Worker{control}
	if opts.Drills != nil {
		control.RegisterWorkflowWithOptions(workflows.Drill, registered("Drill"))
		for name, act := range map[string]any{
			"StageDrill": opts.Drills.StageDrill, "HealDrill": opts.Drills.HealDrill, "CloseDrill": opts.Drills.CloseDrill,
			nameFollowDrill: opts.Drills.FollowDrill, // of drills that began before they had their own queue
		} {
			control.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
		}
		options := controlOptions(opts, drillSlots, 0)
		options.DisableWorkflowWorker = true
		drill := worker.New(temporal, workflows.DrillQueue, options)
		drill.RegisterActivityWithOptions(opts.Drills.FollowDrill, activity.RegisterOptions{Name: nameFollowDrill})
		all = append(all, drill)
	}
	delivery := worker.New(temporal, vigil.DeliveryQueue, controlOptions(opts, cmp.Or(opts.DeliverySlots, deliverySlots), deliveryTasks))
	delivery.RegisterWorkflowWithOptions(workflows.Delivery, registered("Delivery"))
	delivery.RegisterActivityWithOptions(opts.Deliveries.Deliver, activity.RegisterOptions{Name: "Deliver"})
	delivery.RegisterWorkflowWithOptions(workflows.Recovery, registered("Recovery"))
	delivery.RegisterActivityWithOptions(opts.Recoveries.Recover, activity.RegisterOptions{Name: "Recover"})
	return &Control{workers: append(all, delivery)}
}

func controlOptions(opts ControlOptions, slots, tasks int) worker.Options {
	options := workerOptions(opts.Name, opts.Deployment, opts.OnFatal)
	options.MaxConcurrentActivityExecutionSize = slots
	options.MaxConcurrentWorkflowTaskExecutionSize = tasks
	options.WorkflowTaskPollerBehavior = steadyPolls(controlTaskPolls)
	options.ActivityTaskPollerBehavior = steadyPolls(controlActivityPolls)
	return options
}

// steadyPolls keeps as many polls open. Where their number follows the work the SDK looks ten times a second whether there are
// enough: for the seven kinds of the control role that was 70 of the 500 times that a goroutine of `vigil up` ran in a second at rest.
func steadyPolls(n int) worker.PollerBehavior {
	return worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: n})
}

// Start starts polling.
func (c *Control) Start() error {
	for i, w := range c.workers {
		if err := w.Start(); err != nil {
			stopAll(c.workers[:i])
			return err
		}
	}
	return nil
}

// Stop returns when the activities under way have ended, after about ten seconds at
// most. The outcome of an attempt that was cut short is recorded as unknown later.
func (c *Control) Stop() { stopAll(c.workers) }
