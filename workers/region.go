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
	// renewalTimeout is how long a renewal may take, and claimTimeout how long the
	// record of a claim: a Postgres that does not answer must not keep the next one from
	// being sent.
	renewalTimeout = 2 * time.Second
	claimTimeout   = 10 * time.Second
	// stickyTimeout is how long a workflow task waits for the worker that has
	// the workflow in its cache before any other may take it.
	stickyTimeout = 2 * time.Second
)

// leaseStore keeps the leases of workers.
type leaseStore interface {
	RenewLease(ctx context.Context, renewal vigil.Renewal) (vigil.Grant, error)
	// Clock returns the time of the database.
	Clock(ctx context.Context) (time.Time, error)
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
	// Now is the clock of this process, which is compared with the database's.
	Now func() time.Time
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

	lease       *activities.LeaseHolder // of the watcher; nil holds always
	health      leaseHealth
	stopRenewal context.CancelFunc
	renewal     sync.WaitGroup
}

// NewRegions returns the workers; Start starts them.
func NewRegions(temporal client.Client, opts RegionOptions) *Regions {
	sizeCache()
	r := &Regions{opts: opts, lease: opts.Watcher.Lease, health: leaseHealth{log: opts.Log, now: opts.Now}}
	for _, region := range opts.Regions {
		options := workerOptions(opts.Name, opts.Deployment, opts.OnFatal)
		options.Tuner = newTuner(r.lease, region)
		w := worker.New(temporal, vigil.RegionQueue(region), options)
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
		Identity:                     identity,
		WorkflowTaskPollerBehavior:   pollers(),
		ActivityTaskPollerBehavior:   pollers(),
		StickyScheduleToStartTimeout: stickyTimeout,
		MaxHeartbeatThrottleInterval: activities.HeartbeatInterval,
		WorkerStopTimeout:            stopTimeout,
		OnFatalError:                 onFatal,
		DeploymentOptions:            deployment.options(),
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
	if err := r.firstRenewal(ctx); err != nil {
		stopAll(r.workers)
		return err
	}
	renewCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stopRenewal = stop
	r.renewal.Go(func() { every(renewCtx, vigil.LeaseRenewal, r.renew) })
	r.renewal.Go(func() { every(renewCtx, vigil.LeaseRenewal, r.claim) })
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

// every calls fn after each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, fn func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fn(ctx)
		}
	}
}

// renew renews the leases. A failure is retried at the next tick; the leases expire after
// several.
func (r *Regions) renew(ctx context.Context) {
	if err := r.renewOnce(ctx); err != nil && ctx.Err() == nil {
		r.health.failed(ctx, err, r.lease.Parked())
	}
}

// firstRenewal compares the clocks before it renews for the first time: a worker whose
// clock is wrong must not count as live for a moment.
func (r *Regions) firstRenewal(ctx context.Context) error {
	measuring, cancel := context.WithTimeout(ctx, renewalTimeout)
	defer cancel()
	sent := r.opts.Now()
	clock, err := r.opts.Leases.Clock(measuring)
	if err != nil {
		return err
	}
	r.health.difference = clockDifference(sent, r.opts.Now(), clock)
	return r.renewOnce(ctx)
}

func (r *Regions) renewOnce(ctx context.Context) error {
	unavailable := r.opts.Capabilities.Unavailable(ctx)
	ctx, cancel := context.WithTimeout(ctx, renewalTimeout)
	defer cancel()
	sent := r.opts.Now()
	grant, err := r.opts.Leases.RenewLease(ctx, vigil.Renewal{
		Worker: r.opts.Name, Regions: r.opts.Regions, Unavailable: unavailable, ClockDifference: r.health.difference,
	})
	if err != nil {
		return err
	}
	difference := clockDifference(sent, r.opts.Now(), grant.Clock)
	lost := r.lease.Renewed(sent, grant.Fences, difference)
	r.opts.Watcher.ForgetClaims(lost)
	r.health.renewed(ctx, sent, difference, lost)
	return nil
}

// claim records the loops whose turns run here: the sweep must know them if this
// process dies before it has stored a result.
func (r *Regions) claim(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
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
