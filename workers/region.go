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

	"vigil"
	"vigil/activities"
	"vigil/workflows"
)

// Sizes of a region worker. A waiting turn holds only an activity slot, so there may
// be as many slots as loops.
const (
	activitySlots = 100_000
	workflowSlots = 1_000
	maxPollers    = 15
	// stopTimeout is how long turns may take to hand over, and probes in flight to
	// be stored.
	stopTimeout = 10 * time.Second
	// stickyTimeout is how long a workflow task waits for the worker that has
	// the workflow in its cache before any other may take it.
	stickyTimeout = 2 * time.Second
)

// leaseStore keeps the leases of workers.
type leaseStore interface {
	RenewLease(ctx context.Context, worker string, regions []string, unavailable ...vigil.CheckType) error
	ReleaseLease(ctx context.Context, worker string) error
	ClaimLoops(ctx context.Context, lease vigil.Lease, checks []uuid.UUID) error
}

// capabilities reports the check types that this machine cannot run at the moment.
type capabilities interface {
	Unavailable(ctx context.Context) []vigil.CheckType
}

// RegionOptions configure the workers of regions. All are required but OnFatal.
type RegionOptions struct {
	Name         string   // of the process, in the leases and as the workers' identity
	Regions      []string // region keys
	Watcher      *activities.Watcher
	Leases       leaseStore
	Capabilities capabilities
	// OnFatal receives the error of a worker that stops polling for good, as when
	// its namespace is gone for minutes: the process should end and be restarted.
	// Nil ignores it.
	OnFatal    func(error)
	Deployment Deployment // the zero value is unversioned
	Log        *slog.Logger
}

// Regions runs the workers of the regions that a process serves.
type Regions struct {
	opts    RegionOptions
	workers []worker.Worker

	stopRenewal context.CancelFunc
	renewal     sync.WaitGroup
}

// NewRegions returns the workers; Start starts them.
func NewRegions(temporal client.Client, opts RegionOptions) *Regions {
	sizeCache()
	r := &Regions{opts: opts}
	for _, region := range opts.Regions {
		w := worker.New(temporal, vigil.RegionQueue(region), workerOptions(opts.Name, opts.Deployment, opts.OnFatal))
		w.RegisterWorkflowWithOptions(workflows.CheckLoop, registered("CheckLoop"))
		w.RegisterActivityWithOptions(opts.Watcher.Watch, activity.RegisterOptions{Name: "Watch"})
		w.RegisterActivityWithOptions(opts.Watcher.Test, activity.RegisterOptions{Name: "Test"})
		w.RegisterActivityWithOptions(opts.Watcher.ReportVote, activity.RegisterOptions{Name: activities.NameReportVote})
		r.workers = append(r.workers, w)
	}
	return r
}

// sizeCache sizes the workflow cache, which all workers of the process share. The
// first worker fixes its size, so every constructor here calls this first. The cache
// takes memory only for existing loops; a loop that is evicted is replayed every turn.
func sizeCache() { worker.SetStickyWorkflowCacheSize(activitySlots) }

func workerOptions(identity string, deployment Deployment, onFatal func(error)) worker.Options {
	return worker.Options{
		Identity:                               identity,
		MaxConcurrentActivityExecutionSize:     activitySlots,
		MaxConcurrentWorkflowTaskExecutionSize: workflowSlots,
		WorkflowTaskPollerBehavior:             pollers(),
		ActivityTaskPollerBehavior:             pollers(),
		StickyScheduleToStartTimeout:           stickyTimeout,
		MaxHeartbeatThrottleInterval:           activities.HeartbeatInterval,
		WorkerStopTimeout:                      stopTimeout,
		OnFatalError:                           onFatal,
		DeploymentOptions:                      deployment.options(),
	}
}

func pollers() worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{MaximumNumberOfPollers: maxPollers})
}

// Start starts polling and renewing the lease; the first renewal is done when it
// returns.
func (r *Regions) Start(ctx context.Context) error {
	for i, w := range r.workers {
		if err := w.Start(); err != nil {
			stopAll(r.workers[:i])
			return err
		}
	}
	// The lease comes second: a region is online once a worker polls it.
	if err := r.renewOnce(ctx); err != nil {
		stopAll(r.workers)
		return err
	}
	renewCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stopRenewal = stop
	r.renewal.Go(func() { r.renew(renewCtx) })
	return nil
}

// Stop hands the turns over and returns when all workers are idle, after about ten
// seconds at most. It releases the lease last, when every loop of it is claimed.
func (r *Regions) Stop(ctx context.Context) {
	stopAll(r.workers)
	r.stopRenewal()
	r.renewal.Wait()
	r.claim(ctx)
	if err := r.opts.Leases.ReleaseLease(ctx, r.opts.Name); err != nil {
		r.opts.Log.WarnContext(ctx, "lease not released, it will expire", "error", err)
	}
}

// renew renews the lease until ctx ends. A failed renewal is retried at the next tick:
// the sweep acts only after several are missing.
func (r *Regions) renew(ctx context.Context) {
	tick := time.NewTicker(vigil.LeaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.renewOnce(ctx); err != nil {
			if ctx.Err() == nil {
				r.opts.Log.WarnContext(ctx, "lease not renewed", "error", err)
			}
			continue
		}
		r.claim(ctx)
	}
}

func (r *Regions) renewOnce(ctx context.Context) error {
	return r.opts.Leases.RenewLease(ctx, r.opts.Name, r.opts.Regions, r.opts.Capabilities.Unavailable(ctx)...)
}

// claim records the loops whose turns run here: the sweep must know them if this
// process dies before it has stored a result.
func (r *Regions) claim(ctx context.Context) {
	for region, checks := range r.opts.Watcher.TakeClaims() {
		if err := r.opts.Leases.ClaimLoops(ctx, vigil.Lease{Worker: r.opts.Name, Region: region}, checks); err != nil {
			r.opts.Watcher.ReturnClaims(region, checks)
		}
	}
}

// stopAll stops workers in parallel: each may need its whole stop timeout.
func stopAll(workers []worker.Worker) {
	var wait sync.WaitGroup
	for _, w := range workers {
		wait.Go(w.Stop)
	}
	wait.Wait()
}
