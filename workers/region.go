package workers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/activities"
	"vigil/workflows"
)

// Sizes of a region worker. A waiting turn holds an activity slot and nothing
// else, so there may be as many slots as loops.
const (
	activitySlots = 100_000
	workflowSlots = 1_000
	mostPollers   = 15
	// stopTimeout is what turns under way get to hand over, and probes in
	// flight to be stored.
	stopTimeout = 10 * time.Second
	// stickyTimeout is how long a workflow task waits for the worker that has
	// the workflow in its cache before any other may take it.
	stickyTimeout = 2 * time.Second
)

// Lease timing: a worker renews every second, and is held to be gone after
// leaseSilence.
const (
	leaseRenewal = time.Second
	leaseSilence = 3 * time.Second
)

// leases is where a worker says that it lives.
type leases interface {
	RenewLease(ctx context.Context, worker string, regions []string, unavailable ...vigil.CheckType) error
	ReleaseLease(ctx context.Context, worker string) error
	ClaimLoops(ctx context.Context, lease vigil.Lease, checks []uuid.UUID) error
}

// machine knows the check types that it cannot run. What it permits may change
// while it runs.
type machine interface {
	Unavailable(ctx context.Context) []vigil.CheckType
}

// Regions runs the workers of the regions that a process serves.
type Regions struct {
	name    string
	regions []string
	workers []worker.Worker
	watcher *activities.Watcher
	leases  leases
	machine machine
	log     *slog.Logger

	stopRenewal context.CancelFunc
	renewal     sync.WaitGroup
}

// NewRegions returns the workers, not started, of the given region keys. The
// name is that of the process in the leases. A worker that gives up, as when its
// namespace is gone for minutes, never polls again: gaveUp hears why, and the
// process should end and be started anew.
func NewRegions(temporal client.Client, watcher *activities.Watcher, name string, regions []string, leases leases, machine machine, gaveUp func(error), log *slog.Logger) *Regions {
	sizeCache()
	r := &Regions{name: name, regions: regions, watcher: watcher, leases: leases, machine: machine, log: log}
	for _, region := range regions {
		w := worker.New(temporal, vigil.RegionQueue(region), regionOptions(name, gaveUp))
		w.RegisterWorkflowWithOptions(workflows.CheckLoop, workflow.RegisterOptions{Name: "CheckLoop"})
		w.RegisterActivityWithOptions(watcher.Watch, activity.RegisterOptions{Name: "Watch"})
		w.RegisterActivityWithOptions(watcher.Test, activity.RegisterOptions{Name: "Test"})
		w.RegisterActivityWithOptions(watcher.ReportVote, activity.RegisterOptions{Name: activities.NameReportVote})
		r.workers = append(r.workers, w)
	}
	return r
}

// sizeCache sizes the cache of workflows, which is one for all workers of the
// process and gets its size when the first of them is made: so whoever makes
// workers calls it before. It takes memory for the loops that there are; a loop
// that falls out of it is replayed every turn.
func sizeCache() { worker.SetStickyWorkflowCacheSize(activitySlots) }

func regionOptions(identity string, gaveUp func(error)) worker.Options {
	return worker.Options{
		Identity:                               identity,
		MaxConcurrentActivityExecutionSize:     activitySlots,
		MaxConcurrentWorkflowTaskExecutionSize: workflowSlots,
		WorkflowTaskPollerBehavior:             pollers(),
		ActivityTaskPollerBehavior:             pollers(),
		StickyScheduleToStartTimeout:           stickyTimeout,
		WorkerStopTimeout:                      stopTimeout,
		OnFatalError:                           gaveUp,
	}
}

func pollers() worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{MaximumNumberOfPollers: mostPollers})
}

// Start begins to poll and to renew the lease. The first renewal is done when
// it returns.
func (r *Regions) Start(ctx context.Context) error {
	for i, w := range r.workers {
		if err := w.Start(); err != nil {
			stopAll(r.workers[:i])
			return err
		}
	}
	// The lease comes second: a region is online once somebody polls it.
	if err := r.renewOnce(ctx); err != nil {
		stopAll(r.workers)
		return err
	}
	renewCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stopRenewal = stop
	r.renewal.Go(func() { r.renew(renewCtx) })
	return nil
}

// Stop hands the turns over and returns when all workers are idle, at most
// about ten seconds later. The lease is given back last, when it is known whose
// loops it was for.
func (r *Regions) Stop(ctx context.Context) {
	stopAll(r.workers)
	r.stopRenewal()
	r.renewal.Wait()
	r.claim(ctx)
	if err := r.leases.ReleaseLease(ctx, r.name); err != nil {
		r.log.WarnContext(ctx, "lease not given back, it runs out by itself", "error", err)
	}
}

// Starting is workers on their way: they run as soon as Temporal answers.
type Starting struct {
	cancel context.CancelFunc
	done   chan struct{}
	// stop ends what runs, nil when nothing does; read it after done is closed.
	stop func(context.Context)
}

// KeepStarting starts workers in the background, and tries again while Temporal
// or Postgres is away. start must make new workers at each call, since one that
// failed to start cannot be started twice, and returns how to stop them.
func KeepStarting(ctx context.Context, start func(context.Context) (stop func(context.Context), err error), log *slog.Logger) *Starting {
	ctx, cancel := context.WithCancel(ctx)
	s := &Starting{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for ctx.Err() == nil {
			stop, err := start(ctx)
			if err == nil {
				s.stop = stop
				return
			}
			log.WarnContext(ctx, "workers not started, trying again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(startPause):
			}
		}
	}()
	return s
}

// Started is closed once the workers poll, and when starting was given up.
func (s *Starting) Started() <-chan struct{} { return s.done }

// Stop gives up starting, or stops what was started.
func (s *Starting) Stop(ctx context.Context) {
	s.cancel()
	<-s.done
	if s.stop != nil {
		s.stop(ctx)
	}
}

// startPause is the time between two attempts to start.
const startPause = time.Second

// renew keeps the lease. A renewal that fails is repeated at the next tick: the
// sweep acts only after several are missing.
func (r *Regions) renew(ctx context.Context) {
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.renewOnce(ctx); err != nil {
			if ctx.Err() == nil {
				r.log.WarnContext(ctx, "lease not renewed", "error", err)
			}
			continue
		}
		r.claim(ctx)
	}
}

func (r *Regions) renewOnce(ctx context.Context) error {
	return r.leases.RenewLease(ctx, r.name, r.regions, r.machine.Unavailable(ctx)...)
}

// claim notes whose turns came here: the sweep must know it if this process dies
// before it has stored a result of theirs.
func (r *Regions) claim(ctx context.Context) {
	for region, checks := range r.watcher.TakeClaims() {
		if err := r.leases.ClaimLoops(ctx, vigil.Lease{Worker: r.name, Region: region}, checks); err != nil {
			r.watcher.ReturnClaims(region, checks)
		}
	}
}

// stopAll stops workers side by side: each may need its whole stop timeout.
func stopAll(workers []worker.Worker) {
	var wait sync.WaitGroup
	for _, w := range workers {
		wait.Go(w.Stop)
	}
	wait.Wait()
}
