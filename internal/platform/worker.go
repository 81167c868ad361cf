// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/workers"
)

// StartRegions starts the workers of the given regions, and that of heartbeats: they are in no place,
// so that every worker can serve them. While Temporal is away it
// retries without delaying the rest of the process; the channel it returns is closed
// once the workers poll.
func (p *Platform) StartRegions(ctx context.Context, regions []string) (<-chan struct{}, error) {
	// The parts below outlive the signal that stops the process: probes in flight
	// are still stored while the workers hand over.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	regions = append(slices.Clone(regions), vigil.HeartbeatRegion)
	if err := p.inbox.Load(ctx, regions); err != nil {
		cancel()
		return nil, fmt.Errorf("read the regions of agents: %w", err)
	}
	if slices.Contains(regions, vigil.LocationsRegion) { // public regions of agents need no worker of their own
		regions = append(regions, slices.DeleteFunc(p.inbox.Served(), func(key string) bool { return slices.Contains(regions, key) })...)
	}
	writer := storage.NewResultWriter(p.store, storage.WriterOptions{Log: p.Log, Committed: p.metrics.Committed(), Kept: p.metrics.Kept()})
	p.metrics.Gauge("vigil_results_waiting", writer.Waiting)
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := writer.Run(running); err != nil {
			p.fail(fmt.Errorf("the result writer stopped: %w", err))
		}
	}()
	catalogue := activities.NewCatalogue(activities.CatalogueOptions{
		Store: p.store, Parser: p.probing, Regions: regions, Now: time.Now,
		Maintenance: p.store, Log: p.Log,
	})
	if err := catalogue.Load(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("read the checks: %w", err)
	}
	line, err := newLine(p.Process, p.settings.Canaries, p.Private.guard, catalogue)
	if err != nil {
		cancel()
		return nil, err
	}
	go catalogue.Run(running)
	p.watchLine(running, line)

	name, lease := workerName(), activities.NewLeaseHolder(time.Now)
	var showNames func(context.Context) bool
	if p.names != nil {
		showNames = p.names.Shown
	}
	go p.arrivals.Run(running)
	go p.inbox.Run(running)
	turns := dispatch.NewTurns(p.temporal.Client, p.settings.TemporalNamespace)
	watcher := activities.NewWatcher(activities.WatcherOptions{
		Catalogue: catalogue, Results: writer, History: p.store,
		Probes: fair.New(fair.DefaultLimits(p.settings.MaxProbes)), Worker: name, Lease: lease,
		TurnRate: p.settings.TurnRate.everySlot(), WideRate: p.settings.TurnRate.wide(runtime.GOMAXPROCS(0)),
		QuietWindow: p.settings.QuietWindow,
		Votes:       p.store, Incidents: p.incidents, LastVotes: p.store, Spans: p.spans(), ShowNames: showNames, Now: time.Now, Log: p.Log,
		Completer: turns, Owners: p.store, Figures: p.metrics.Temporal(), Seal: p.secrets.sealAnswer, Line: line,
		Arrivals: p.arrivals, Inbox: p.inbox,
	})
	p.watcher.Store(watcher)
	p.metrics.Gauge("vigil_probes_in_flight", watcher.Probing)
	p.metrics.Gauge("vigil_probes_waiting", watcher.Waiting)
	p.showTurns(watcher)
	p.showLease(lease)
	go p.reportLoad(running, name, watcher)
	started := workers.KeepStarting(running, func(ctx context.Context) (func(context.Context), error) {
		regions := workers.NewRegions(p.temporal.Client, workers.RegionOptions{
			Name: name, Regions: regions, Watcher: watcher, Leases: p.store, Capabilities: p.probes, BlindSince: line.BlindSince, Now: time.Now,
			OnFatal: p.workerFailed, Deployment: p.Deployment, Builds: turns, Demand: p.demand, TurnRate: p.settings.TurnRate.everySlot(),
			Log: p.Log,
		})
		return regions.Stop, regions.Start(ctx)
	}, p.Log)
	p.onStopWorkers(func(ctx context.Context) {
		started.Stop(ctx)
		cancel()
		<-written
	})
	return started.Started(), nil
}

// showTurns shows the budget of turns.
func (p *Platform) showTurns(watcher *activities.Watcher) {
	p.metrics.Number("vigil_turn_budget", func() float64 { return watcher.Turns().Rate })
	p.metrics.Number("vigil_turn_budget_tokens", func() float64 { return watcher.Turns().Tokens })
	p.metrics.Number("vigil_slots_due", func() float64 { return watcher.Turns().Due })
	p.metrics.Gauge("vigil_turn_slots", func() int64 { return int64(watcher.Turns().Slots) })
}

// showLease shows whether the worker has its leases, and its clock.
func (p *Platform) showLease(lease *activities.LeaseHolder) {
	p.metrics.Gauge("vigil_worker_parked", func() int64 {
		if lease.Parked() {
			return 1
		}
		return 0
	})
	p.metrics.Seconds("vigil_clock_difference_seconds", lease.ClockDifference)
}
