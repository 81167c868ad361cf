// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"

	"github.com/vigil-monitor/vigil"
)

// Steps are the parts of Regions that run by themselves, one by one, without a Temporal.
type Steps struct{ *Regions }

// NewSteps returns the steps of a process; run receives the turns that it adopts.
func NewSteps(opts RegionOptions, run func([]vigil.OpenTurn, int64, <-chan struct{})) Steps {
	r := NewRegions(nil, opts)
	r.run, r.stopServing, r.stopRenewal = run, func() {}, func() {}
	return Steps{r}
}

// Renew renews the lease.
func (s Steps) Renew(ctx context.Context) { s.renew(ctx) }

// Claim records that this worker has the loops.
func (s Steps) Claim(ctx context.Context) { s.claim(ctx) }

// Adopt adopts what the renewals have offered, and what adoptions without an answer have adopted.
func (s Steps) Adopt(ctx context.Context) {
	s.askAgain(ctx)
	select {
	case offered := <-s.revoked:
		s.adoptOffered(ctx, offered)
	default:
	}
}
