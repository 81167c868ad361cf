// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// notifier updates workflows in the background after a commit. Requests do not
// wait for it: while Temporal is unavailable, the sweep repairs it later.
type notifier struct {
	store     loopStore
	loops     loopWorkflows
	incidents incidentWorkflows
	tasks     *tasks
	creations burst // of checks
	now       func() time.Time
}

// loopStore reads the loop rows of a check.
type loopStore interface {
	Loops(ctx context.Context, orgID, checkID uuid.UUID) ([]vigil.Loop, error)
}

// applyLoops updates the loops of a check, and stops those of the regions that
// it lost.
func (n *notifier) applyLoops(ctx context.Context, check vigil.Check, before []string) {
	lost := slices.DeleteFunc(slices.Clone(before), func(r string) bool { return slices.Contains(check.Regions, r) })
	n.stopLoops(ctx, check.ID, lost, check.Revision)
	if check.Revision == 1 && n.creations.add(n.now()) {
		return // the sweep starts them
	}
	n.tasks.start(ctx, "apply a check to its loops", func(ctx context.Context) error {
		rows, err := n.store.Loops(ctx, check.OrgID, check.ID)
		if err != nil {
			return err
		}
		return each(rows, func(row vigil.Loop) error { return n.loops.Apply(ctx, row) })
	})
}

func (n *notifier) stopLoops(ctx context.Context, id uuid.UUID, regions []string, revision int64) {
	if len(regions) == 0 {
		return
	}
	n.tasks.start(ctx, "stop loops of a check", func(ctx context.Context) error {
		return each(regions, func(region string) error { return n.loops.Stop(ctx, id, region, revision) })
	})
}

// bulkTasks is how many tasks update the loops of many checks, side by side.
const bulkTasks = 8

// changed updates the loops and incidents of the checks that were changed together. What
// its tasks do not reach in time is left to the sweep.
func (n *notifier) changed(ctx context.Context, edits []vigil.CheckEdit) {
	edits = slices.DeleteFunc(slices.Clone(edits), func(e vigil.CheckEdit) bool { return !e.Changed })
	size := max(1, (len(edits)+bulkTasks-1)/bulkTasks)
	for part := range slices.Chunk(edits, size) {
		n.tasks.start(ctx, "apply checks to their loops", func(ctx context.Context) error {
			return each(part, func(e vigil.CheckEdit) error { return n.applyEdit(ctx, e) })
		})
	}
}

func (n *notifier) applyEdit(ctx context.Context, e vigil.CheckEdit) error {
	lost, revision := e.Stopped, int64(0)
	if e.After.ID != uuid.Nil {
		lost = slices.DeleteFunc(slices.Clone(e.Before.Regions), func(r string) bool { return slices.Contains(e.After.Regions, r) })
		revision = e.After.Revision
	}
	err := each(lost, func(region string) error { return n.loops.Stop(ctx, e.Before.ID, region, revision) })
	if e.After.ID != uuid.Nil {
		rows, errRead := n.store.Loops(ctx, e.After.OrgID, e.After.ID)
		err = errors.Join(err, errRead, each(rows, func(row vigil.Loop) error { return n.loops.Apply(ctx, row) }))
	}
	err = errors.Join(err, n.incidents.Refresh(ctx, e.Before.ID))
	return errors.Join(err, each(e.Deliveries, func(d vigil.PendingDelivery) error { return n.incidents.Send(ctx, d) }))
}

// send starts the workflows of deliveries.
func (n *notifier) send(ctx context.Context, deliveries []vigil.PendingDelivery) {
	if len(deliveries) == 0 {
		return
	}
	n.tasks.start(ctx, "send the end of an incident", func(ctx context.Context) error {
		return each(deliveries, func(d vigil.PendingDelivery) error { return n.incidents.Send(ctx, d) })
	})
}

// refreshIncident has the incident of a check evaluated again, after something
// that it depends on changed.
func (n *notifier) refreshIncident(ctx context.Context, check uuid.UUID) {
	n.tasks.start(ctx, "refresh the incident of a check", func(ctx context.Context) error { return n.incidents.Refresh(ctx, check) })
}

// rulesChanged updates the loops of a check, and its incident, after its rules
// changed.
func (n *notifier) rulesChanged(ctx context.Context, orgID, check uuid.UUID) {
	n.refreshIncident(ctx, check)
	n.applyLoops(ctx, vigil.Check{ID: check, OrgID: orgID}, nil)
}
