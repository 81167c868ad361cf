// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// loadInterval is how often a worker measures its load, and loadTimeout how long the
// database may take to store it.
const (
	loadInterval = time.Second
	loadTimeout  = 2 * time.Second
)

// reportLoad measures the load of the watcher until ctx ends: it shows it as metrics, logs
// when overload begins and ends, and stores it beside the worker's leases, where the API
// processes read it. What is stored is not stored again.
func (p *Platform) reportLoad(ctx context.Context, name string, watcher *activities.Watcher) {
	var last atomic.Pointer[fleet.Load]
	last.Store(&fleet.Load{})
	p.metrics.Seconds("vigil_slot_lateness_seconds", func() time.Duration { return last.Load().Lateness })
	p.metrics.Gauge("vigil_overloaded", func() int64 {
		if last.Load().Overloaded {
			return 1
		}
		return 0
	})
	var stored fleet.Load
	for timing.Sleep(ctx, loadInterval) == nil {
		load := watcher.Load()
		if before := last.Swap(&load); before.Overloaded != load.Overloaded {
			p.logLoad(ctx, *before, load)
		}
		if !load.Overloaded && !stored.Overloaded {
			continue
		}
		storing, cancel := context.WithTimeout(ctx, loadTimeout)
		if p.store.ReportLoad(storing, name, load) == nil { // else a second later
			stored = load
		}
		cancel()
	}
}

func (p *Platform) logLoad(ctx context.Context, before, now fleet.Load) {
	if now.Overloaded {
		p.Log.WarnContext(ctx, "overloaded: slots are probed late, and the API refuses what adds load", "lateness", now.Lateness)
		return
	}
	p.Log.InfoContext(ctx, "no longer overloaded", "after", time.Since(before.Since).Round(time.Second))
}
