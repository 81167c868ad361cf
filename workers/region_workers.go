// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
)

// useInterval is the time between two looks at which regions are in use. It bounds how
// long the first work of a region waits for its worker.
const useInterval = time.Second

// regionWorkers are the workers of the regions of a process that poll.
type regionWorkers struct {
	create func(region string) worker.Worker

	mu      sync.Mutex
	started map[string]worker.Worker
}

// idle returns those of the regions whose worker is not started, each once.
func (w *regionWorkers) idle(regions []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := slices.DeleteFunc(slices.Clone(regions), func(region string) bool { return w.started[region] != nil })
	slices.Sort(idle)
	return slices.Compact(idle) // a second worker of a region would never be stopped
}

// start starts the workers of regions until one fails. It must not be called twice at the
// same time.
func (w *regionWorkers) start(ctx context.Context, regions []string) error {
	for _, region := range w.idle(regions) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		started := w.create(region)
		if err := started.Start(); err != nil {
			return err
		}
		w.mu.Lock()
		w.started[region] = started
		w.mu.Unlock()
	}
	return nil
}

// stop stops the workers that are started, in parallel.
func (w *regionWorkers) stop() {
	w.mu.Lock()
	var started []worker.Worker
	for region, one := range w.started {
		started = append(started, one)
		delete(w.started, region)
	}
	w.mu.Unlock()
	stopAll(started)
}

// usedAtStart returns the regions whose workers start with the process.
func (r *Regions) usedAtStart(ctx context.Context) ([]string, error) {
	if r.opts.Deployment != (Deployment{}) || len(r.opts.Regions) == 0 {
		return r.opts.Regions, nil
	}
	used, err := r.opts.Leases.RegionsInUse(ctx, r.opts.Regions)
	return append(used, r.opts.Regions[0]), err
}

// serve starts the workers of the other regions when they are in use, until all are
// started or ctx ends. A start that fails is repeated.
func (r *Regions) serve(ctx context.Context) {
	tick := time.NewTicker(useInterval)
	defer tick.Stop()
	for {
		idle := r.workers.idle(r.opts.Regions)
		if len(idle) == 0 {
			return
		}
		var used []string
		var err error
		select {
		case <-ctx.Done():
			return
		case <-r.opts.Demand.signal():
		case <-tick.C:
			bounded, cancel := context.WithTimeout(ctx, claimTimeout)
			used, err = r.opts.Leases.RegionsInUse(bounded, idle)
			cancel()
		}
		if err == nil {
			err = r.workers.start(ctx, append(used, r.opts.Demand.of(idle)...))
		}
		if err != nil && ctx.Err() == nil {
			r.opts.Log.WarnContext(ctx, "workers of regions in use not started, retrying", "error", err)
		}
	}
}
