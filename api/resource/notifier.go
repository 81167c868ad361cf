// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// Notifier updates workflows in the background after a commit. Requests do not
// wait for it: while Temporal is unavailable, the sweep repairs it later.
type Notifier struct {
	Store     LoopStore
	Loops     LoopWorkflows
	Incidents IncidentWorkflows
	Tasks     *Tasks
	Now       func() time.Time

	creations timing.Burst // of checks
}

// burstSize checks that this process creates within burstTime are a burst. Starting their loops
// takes the processors that the answers to the creations need, so that the sweep does it afterwards.
const (
	burstSize = 17
	burstTime = 250 * time.Millisecond
)

// NewNotifier returns a Notifier; all of its parts are required.
func NewNotifier(store LoopStore, loops LoopWorkflows, incidents IncidentWorkflows, tasks *Tasks, now func() time.Time) *Notifier {
	return &Notifier{
		Store: store, Loops: loops, Incidents: incidents, Tasks: tasks, Now: now,
		creations: timing.Burst{Size: burstSize, Window: burstTime},
	}
}

// LoopStore reads the loop rows of a check.
type LoopStore interface {
	Loops(ctx context.Context, orgID, checkID uuid.UUID) ([]vigil.Loop, error)
}

// ApplyLoops updates the loops of a check, and stops those of the regions that
// it lost.
func (n *Notifier) ApplyLoops(ctx context.Context, check vigil.Check, before []string) {
	lost := slices.DeleteFunc(slices.Clone(before), func(r string) bool { return slices.Contains(check.Regions, r) })
	n.StopLoops(ctx, check.ID, lost, check.Revision)
	if check.Revision == 1 && n.creations.Add(n.Now()) {
		return // the sweep starts them
	}
	n.Tasks.Start(ctx, "apply a check to its loops", func(ctx context.Context) error {
		rows, err := n.Store.Loops(ctx, check.OrgID, check.ID)
		if err != nil {
			return err
		}
		return each(rows, func(row vigil.Loop) error { return n.Loops.Apply(ctx, row) })
	})
}

// StopLoops ends the loops of regions that left a check at a revision, or, with zero, of a check
// that is gone.
func (n *Notifier) StopLoops(ctx context.Context, id uuid.UUID, regions []string, revision int64) {
	if len(regions) == 0 {
		return
	}
	n.Tasks.Start(ctx, "stop loops of a check", func(ctx context.Context) error {
		return each(regions, func(region string) error { return n.Loops.Stop(ctx, id, region, revision) })
	})
}

// bulkTasks is how many tasks update the loops of many checks, side by side.
const bulkTasks = 8

// Changed updates the loops and incidents of the checks that were changed together. What
// its tasks do not reach in time is left to the sweep.
func (n *Notifier) Changed(ctx context.Context, edits []vigil.CheckEdit) {
	edits = slices.DeleteFunc(slices.Clone(edits), func(e vigil.CheckEdit) bool { return !e.Changed })
	size := max(1, (len(edits)+bulkTasks-1)/bulkTasks)
	for part := range slices.Chunk(edits, size) {
		n.Tasks.Start(ctx, "apply checks to their loops", func(ctx context.Context) error {
			return each(part, func(e vigil.CheckEdit) error { return n.applyEdit(ctx, e) })
		})
	}
}

func (n *Notifier) applyEdit(ctx context.Context, e vigil.CheckEdit) error {
	lost, revision := e.Stopped, int64(0)
	if e.After.ID != uuid.Nil {
		lost = slices.DeleteFunc(slices.Clone(e.Before.Regions), func(r string) bool { return slices.Contains(e.After.Regions, r) })
		revision = e.After.Revision
	}
	err := each(lost, func(region string) error { return n.Loops.Stop(ctx, e.Before.ID, region, revision) })
	if e.After.ID != uuid.Nil {
		rows, errRead := n.Store.Loops(ctx, e.After.OrgID, e.After.ID)
		err = errors.Join(err, errRead, each(rows, func(row vigil.Loop) error { return n.Loops.Apply(ctx, row) }))
	}
	err = errors.Join(err, n.Incidents.Refresh(ctx, e.Before.ID))
	return errors.Join(err, n.send(ctx, e.Deliveries))
}

// Send starts the workflows of deliveries.
func (n *Notifier) Send(ctx context.Context, deliveries []vigil.PendingDelivery) {
	if len(deliveries) == 0 {
		return
	}
	n.Tasks.Start(ctx, "send messages about an incident", func(ctx context.Context) error {
		return n.send(ctx, deliveries)
	})
}

// sendsAhead is how many deliveries of a task are sent at a time: one after the other, those to many
// channels would take longer than a task may.
const sendsAhead = 8

// send starts the workflows of deliveries, also after an error, and returns the first.
func (n *Notifier) send(ctx context.Context, deliveries []vigil.PendingDelivery) error {
	var group errgroup.Group
	group.SetLimit(sendsAhead)
	for _, d := range deliveries {
		group.Go(func() error { return n.Incidents.Send(ctx, d) })
	}
	return group.Wait()
}

// StartDrill starts the workflow of a drill.
func (n *Notifier) StartDrill(ctx context.Context, orgID, id uuid.UUID) {
	n.Tasks.Start(ctx, "start a drill", func(ctx context.Context) error { return n.Incidents.StartDrill(ctx, orgID, id) })
}

// RefreshIncident has the incident of a check evaluated again, after something
// that it depends on changed.
func (n *Notifier) RefreshIncident(ctx context.Context, check uuid.UUID) {
	n.Tasks.Start(ctx, "refresh the incident of a check", func(ctx context.Context) error { return n.Incidents.Refresh(ctx, check) })
}

// RulesChanged updates the loops of a check, and its incident, after its rules
// changed.
func (n *Notifier) RulesChanged(ctx context.Context, orgID, check uuid.UUID) {
	n.RefreshIncident(ctx, check)
	n.ApplyLoops(ctx, vigil.Check{ID: check, OrgID: orgID}, nil)
}
