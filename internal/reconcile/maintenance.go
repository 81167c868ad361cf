// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"slices"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// maintenanceStore is what the sweep reads and marks of maintenance.
type maintenanceStore interface {
	EndedHolds(ctx context.Context, shards []int, limit int) ([]maintenance.Hold, error)
	ReleaseHold(ctx context.Context, lease fleet.SweepLease, hold maintenance.Hold) error
	PutOffHold(ctx context.Context, lease fleet.SweepLease, hold maintenance.Hold) error
	DueReclassifications(ctx context.Context, shards []int, limit int) ([]vigil.ResultSpan, error)
	Reclassify(ctx context.Context, lease fleet.SweepLease, span vigil.ResultSpan) error
	PutOffReclassification(ctx context.Context, lease fleet.SweepLease, span vigil.ResultSpan) error
}

// endMaintenance has the incident workflows of checks that were in maintenance read that
// they are not any more: each vote that stands is then looked at. It goes on until none is
// left, since the end of one window may concern thousands of checks.
func (r *incidentRepair) endMaintenance(ctx context.Context, w work) error {
	return r.inPages(ctx, func() (int, error) {
		ended, err := r.store.EndedHolds(ctx, w.checks(), passLimit)
		if err != nil {
			return 0, err
		}
		list := make([]repair, len(ended))
		for i, hold := range ended {
			list[i] = repair{check: hold.CheckID, kind: kindMaintenance, id: hold.CheckID.String()}
			list[i].inTurn(
				func(ctx context.Context) error {
					if !hold.Firing { // no workflow need be started
						return r.incidents.Refresh(ctx, hold.CheckID)
					}
					return r.incidents.Revive(ctx, hold.OrgID, hold.CheckID, hold.CheckName, hold.Target)
				},
				func(ctx context.Context, lease fleet.SweepLease) error { return r.store.ReleaseHold(ctx, lease, hold) })
			list[i].putOff = func(ctx context.Context, lease fleet.SweepLease) error { return r.store.PutOffHold(ctx, lease, hold) }
		}
		return len(ended), r.repairs.run(ctx, w, startParallelism, list)
	})
}

// reclassify marks the results of spans again whose maintenance was changed afterwards.
func (r *incidentRepair) reclassify(ctx context.Context, w work) error {
	return r.inPages(ctx, func() (int, error) {
		due, err := r.store.DueReclassifications(ctx, w.checks(), passLimit)
		if err != nil {
			return 0, err
		}
		list := make([]repair, len(due))
		for i, span := range due {
			list[i] = ofRegion(kindReclassified, span.CheckID, span.Region)
			list[i].id += span.From.String()
			list[i].do = func(ctx context.Context, lease fleet.SweepLease) error { return r.store.Reclassify(ctx, lease, span) }
			list[i].putOff = func(ctx context.Context, lease fleet.SweepLease) error {
				return r.store.PutOffReclassification(ctx, lease, span)
			}
		}
		return len(due), r.repairs.run(ctx, w, reclassifyParallelism, list)
	})
}

// maxPages bounds the pages of a pass, so that rows which stay, because another process
// has taken their shard meanwhile, are not read for ever.
const maxPages = 100

// maxPaging is after how much time a pass begins no other page, so that it ends before its limit, which counts as a failure.
// The next pass goes on.
const maxPaging = passTimeout / 2

// inPages repairs page after page until one is not full.
func (r *incidentRepair) inPages(ctx context.Context, page func() (int, error)) error {
	began := r.now()
	for range maxPages {
		n, err := page()
		if err != nil || n < passLimit || ctx.Err() != nil || r.now().Sub(began) >= maxPaging {
			return err
		}
	}
	return nil
}

// onceInPages is inPages for the repairs that each page reads. A row that is read again, since its mark does not keep it
// from that, is left to the next pass.
func (r *incidentRepair) onceInPages(ctx context.Context, w work, read func() ([]repair, error)) error {
	seen := make(map[string]bool)
	return r.inPages(ctx, func() (int, error) {
		list, err := read()
		n := len(list)
		list = slices.DeleteFunc(list, func(one repair) bool {
			was := seen[one.id]
			seen[one.id] = true
			return was
		})
		if err != nil || len(list) == 0 {
			return 0, err
		}
		return n, r.repairs.run(ctx, w, nudgeParallelism, list)
	})
}
