// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// unobservedStore is what the sweep reads and marks of checks that are not probed.
type unobservedStore interface {
	Unobserved(ctx context.Context, now, since time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error)
	BeginUnobserved(
		ctx context.Context,
		lease fleet.SweepLease,
		checkID uuid.UUID,
		since time.Time,
		publicURL string,
	) ([]vigil.PendingDelivery, error)
	ObservedAgain(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error)
	EndUnobserved(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, publicURL string) ([]vigil.PendingDelivery, error)
}

const kindUnobserved = "unobserved check"

// reportUnobserved publishes which checks are not probed although they should be, and which of
// them are again. A check that was not probed while the sweep itself could not read gets time.
func (r *incidentRepair) reportUnobserved(ctx context.Context, w work) error {
	since := r.readsSince()
	return r.inPages(ctx, func() (int, error) {
		ended, err := r.store.ObservedAgain(ctx, r.now(), w.checks(), passLimit)
		if err != nil {
			return 0, err
		}
		var begun []vigil.UnobservedCheck
		if !since.IsZero() {
			if begun, err = r.store.Unobserved(ctx, r.now(), since, w.checks(), passLimit); err != nil {
				return 0, err
			}
		}
		var list []repair
		for _, check := range ended {
			list = append(list, repair{
				check: check.CheckID, kind: kindUnobserved, id: check.CheckID.String(),
				do: func(ctx context.Context, lease fleet.SweepLease) error {
					pending, err := r.store.EndUnobserved(ctx, lease, check.CheckID, r.publicURL)
					return r.notify(ctx, pending, err)
				},
			})
		}
		for _, check := range begun {
			list = append(list, repair{
				check: check.CheckID, kind: kindUnobserved, id: check.CheckID.String(),
				do: func(ctx context.Context, lease fleet.SweepLease) error {
					pending, err := r.store.BeginUnobserved(ctx, lease, check.CheckID, since, r.publicURL)
					return r.notify(ctx, pending, err)
				},
			})
		}
		return max(len(ended), len(begun)), r.repairs.run(ctx, w, nudgeParallelism, list)
	})
}

// notify starts the workflows of deliveries. They are stored, so that sendDeliveries repeats what fails.
func (r *incidentRepair) notify(ctx context.Context, pending []vigil.PendingDelivery, err error) error {
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(nudgeParallelism)
	for _, delivery := range pending {
		group.Go(func() error { return r.incidents.Send(ctx, delivery) })
	}
	return group.Wait()
}

// unobservedLoops are the loops that are not probed, counted by the process that leads.
type unobservedLoops struct {
	store interface {
		UnobservedLoops(ctx context.Context) (map[string]int64, error)
		LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
	}

	mu     sync.Mutex
	counts map[string]int64 // by region; one that has a worker, or had some, has 0
}

// count is one pass. A region that has a worker counts with 0, so that its series does not end.
func (u *unobservedLoops) count(ctx context.Context, _ work) error {
	found, err := u.store.UnobservedLoops(ctx)
	if err != nil {
		return err
	}
	live, err := u.store.LiveRegions(ctx, fleet.LeaseTimeout)
	if err != nil {
		return err
	}
	for region := range live {
		found[region] += 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for region := range u.counts {
		if _, has := found[region]; !has {
			found[region] = 0
		}
	}
	u.counts = found
	return nil
}

// UnobservedLoops returns how many loops of all organizations are not probed although they
// should be, by region: those whose newest result is older than three intervals and the deadline
// of a probe. Nil for a process that does not lead.
func (s *Sweep) UnobservedLoops() map[string]int64 {
	if !s.Leads() {
		return nil
	}
	s.unobserved.mu.Lock()
	defer s.unobserved.mu.Unlock()
	return maps.Clone(s.unobserved.counts)
}
