package api

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"vigil"
)

// notifier updates workflows in the background after a commit. Requests do not
// wait for it: while Temporal is unavailable, the sweep repairs it later.
type notifier struct {
	store     loopStore
	loops     loopWorkflows
	incidents incidentWorkflows
	tasks     *tasks
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
