// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// confirmAfter is how long Postgres must have answered before an expired lease
// counts as abandoned: while Postgres was away, no worker could renew.
const confirmAfter = fleet.LeaseTimeout + fleet.LeaseRenewal

// leaseStore reads leases.
type leaseStore interface {
	SilentLeases(ctx context.Context, silence time.Duration) ([]fleet.Lease, error)
}

// leaseMonitor keeps the leases that are no longer renewed. Its pass does nothing
// else: a slow pass elsewhere must not look like a Postgres that was away. It runs in every
// control process, so that one that takes a shard knows them already.
type leaseMonitor struct {
	store leaseStore
	now   func() time.Time

	mu           sync.Mutex
	silent       []fleet.Lease
	healthySince time.Time // since when Postgres has answered without a gap; zero: it does not
	answered     time.Time // when it last answered
}

// check reads which leases are no longer renewed.
func (m *leaseMonitor) check(ctx context.Context, _ work) error {
	silent, err := m.store.SilentLeases(ctx, fleet.LeaseTimeout)
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.healthySince, m.silent = time.Time{}, nil
		return err
	}
	if m.healthySince.IsZero() || now.Sub(m.answered) > fleet.LeaseTimeout {
		m.healthySince = now // no worker could renew, or no check was made
	}
	m.answered, m.silent = now, silent
	return nil
}

// confirmedSilent returns the leases of workers that stopped renewing. known is
// false until it is certain that the workers, and not Postgres, are the cause.
func (m *leaseMonitor) confirmedSilent(now time.Time) (silent []fleet.Lease, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.healthySince.IsZero() || now.Sub(m.answered) > fleet.LeaseTimeout || m.answered.Sub(m.healthySince) < confirmAfter {
		return nil, false
	}
	return slices.Clone(m.silent), true
}
