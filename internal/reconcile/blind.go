// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// reportBlindRegions publishes which regions are blind, and which are not any more. A worker that
// disappears while it is blind ends that as well: it probes nothing.
func (s *Sweep) reportBlindRegions(ctx context.Context, w work) error {
	lease, common := w.lease(fleet.CommonShard)
	if !common {
		return nil
	}
	if err := s.store.RecordBlindRegions(ctx, lease, fleet.LeaseTimeout); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if n, err := s.store.PublishBlindRegions(ctx, passLimit); err != nil || n < passLimit {
			return err
		}
	}
	return ctx.Err()
}
