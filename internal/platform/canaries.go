// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/canary"
	"github.com/vigil-monitor/vigil/internal/egress"
)

// newLine returns what this process knows of its line, nil when that is off. The canaries are
// reached by the guard of the probes, so one that may not be probed never answers: the error names
// the first one whose address says so.
func newLine(p *Process, canaries canary.List, guard *egress.Guard, catalogue *activities.Catalogue) (*canary.Line, error) {
	for _, address := range canaries {
		if to, err := netip.ParseAddrPort(address); err == nil {
			if err := guard.Check("tcp", to.String()); err != nil {
				return nil, wrongSetting("VIGIL_CANARIES", fmt.Errorf("holds %q, which cannot be asked: %w", address, err))
			}
		}
	}
	return canary.New(canary.Options{
		Canaries: canaries, Guard: guard, Probes: catalogue.HasTarget, Now: time.Now, Log: p.Log,
	}), nil
}

// watchLine runs the questions to the canaries until ctx ends, and shows what is known of them.
func (p *Platform) watchLine(ctx context.Context, line *canary.Line) {
	go line.Run(ctx)
	p.metrics.Gauge("vigil_blind", func() int64 {
		if line.Blind() {
			return 1
		}
		return 0
	})
}
