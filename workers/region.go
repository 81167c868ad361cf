// SPDX-License-Identifier: Apache-2.0

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

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/workflows"
)

// Sizes of a region worker. A waiting turn holds only an activity slot, so there may
// be as many slots as loops.
const (
	activitySlots = 100_000
	workflowSlots = 1_000
	maxPollers    = 15
	// regionPollers is how many polls for workflow tasks of a region are open at least. A
	// task that finds none is written to the database and read again.
	regionPollers = 4
	// stopTimeout is how long turns may take to hand over, and probes in flight to
	// be stored.
	stopTimeout = 10 * time.Second
	// leaveTimeout is how long the lease of a worker that stops waits for its turns.
	leaveTimeout = time.Second
	// renewalTimeout is how long a renewal may take, and claimTimeout how long the
	// record of a claim: a Postgres that does not answer must not keep the next one from
	// being sent.
	renewalTimeout = 2 * time.Second
	claimTimeout   = 10 * time.Second
	// adoptBatch is how many turns a worker adopts at a time: the others of its region get
	// their part.
	adoptBatch = fleet.AdoptAtOnce
	// stickyTimeout is how long a workflow task waits for the worker that has
	// the workflow in its cache before any other may take it.
	stickyTimeout = 2 * time.Second
)

// leaseStore keeps the leases of workers.
type leaseStore interface {
	RenewLease(ctx context.Context, renewal fleet.Renewal) (fleet.Grant, error)
	// Clock returns the time of the database.
	Clock(ctx context.Context) (time.Time, error)
	// GiveUpLease revokes the leases of a worker that stops.
	GiveUpLease(ctx context.Context, worker string) error
	ReleaseLease(ctx context.Context, worker string) error
	ClaimLoops(ctx context.Context, lease fleet.Lease, checks []uuid.UUID) error
	// AdoptTurns makes loops of workers that died those of another worker, and returns their
	// open turns.
	AdoptTurns(ctx context.Context, adoption fleet.Adoption, silence time.Duration) ([]vigil.OpenTurn, error)
	// RegionsInUse returns those of the regions that have loops or tests by hand.
	RegionsInUse(ctx context.Context, regions []string) ([]string, error)
}

// builds knows the builds of the program that Temporal gives work to.
type builds interface {
	// CurrentBuild returns the Worker Deployment Version that gets the work of a region, empty
	// for unversioned workers.
	CurrentBuild(ctx context.Context, region string) (string, error)
}

// capabilities reports the check types that this machine cannot run at the moment.
type capabilities interface {
	Unavailable(ctx context.Context) []vigil.CheckType
}

// RegionOptions configure the workers of regions. All are required but BlindSince, OnFatal, Builds,
// Demand and TurnRate.
type RegionOptions struct {
	Name         string   // of the process, in the leases and as the workers' identity
	Regions      []string // region keys
	Watcher      *activities.Watcher
	Leases       leaseStore
	Capabilities capabilities
	// BlindSince returns since when this machine has no line to the internet, zero when it has
	// one; nil: it always has.
	BlindSince func() time.Time
	// Now is the clock of this process, which is compared with the database's.
	Now func() time.Time
	// OnFatal receives the error of a worker that stops polling permanently, as when
	// its namespace is gone for minutes: the process should end and be restarted.
	// Nil ignores it.
	OnFatal    func(error)
	Deployment Deployment // the zero value is unversioned
	// Builds says whether this build may adopt the turns of others. Nil: it adopts those of its
	// own build only.
	Builds builds
	// Demand are the regions that the rest of this process gives work to; nil: their
	// workers start with the next look at the database.
	Demand *Demand
	// TurnRate is the budget of turns a second of the process, that of Watcher; 0: there is none.
	TurnRate float64
	Log      *slog.Logger
}

// Regions runs the workers of the regions that a process serves. The polls of a region
// cost memory in this process and in Temporal, so its worker starts when the region is in
// use. Two kinds start at once: the first region, so that Start finds out whether Temporal
// answers, and all of a versioned build, since Temporal knows a build by its polls.
type Regions struct {
	opts    RegionOptions
	workers regionWorkers

	lease                    *activities.LeaseHolder // of the watcher; nil holds always
	health                   leaseHealth
	revoked                  chan map[string][]string                       // turns to adopt: builds by region; has a buffer of one
	unanswered               []unanswered                                   // adoptions; used by one goroutine
	run                      func([]vigil.OpenTurn, int64, <-chan struct{}) // runs adopted turns
	stopServing, stopRenewal context.CancelFunc
	serving, renewal         sync.WaitGroup
}

// NewRegions returns the workers; Start starts them.
func NewRegions(temporal client.Client, opts RegionOptions) *Regions {
	sizeCache(opts.TurnRate)
	r := &Regions{
		opts: opts, lease: opts.Watcher.Lease, health: leaseHealth{log: opts.Log, now: opts.Now}, revoked: make(chan map[string][]string, 1),
		run: opts.Watcher.Adopt,
	}
	r.workers = regionWorkers{started: make(map[string]worker.Worker), create: func(region string) worker.Worker {
		return newRegionWorker(temporal, region, opts)
	}}
	return r
}

// newRegionWorker returns the worker of one region.
func newRegionWorker(temporal client.Client, region string, opts RegionOptions) worker.Worker {
	options := workerOptions(opts.Name, opts.Deployment, opts.OnFatal)
	options.Tuner = newTuner(opts.Watcher.Lease, region)
	options.WorkflowTaskPollerBehavior = pollers(regionPollers)
	options.Interceptors = append(options.Interceptors, &freshState{watcher: opts.Watcher})
	w := worker.New(temporal, vigil.RegionQueue(region), options)
	w.RegisterWorkflowWithOptions(workflows.CheckLoop, registered("CheckLoop"))
	w.RegisterActivityWithOptions(opts.Watcher.Watch, activity.RegisterOptions{Name: "Watch"})
	w.RegisterActivityWithOptions(opts.Watcher.Test, activity.RegisterOptions{Name: "Test"})
	w.RegisterActivityWithOptions(opts.Watcher.ReportVote, activity.RegisterOptions{Name: activities.NameReportVote})
	return w
}

func workerOptions(identity string, deployment Deployment, onFatal func(error)) worker.Options {
	return worker.Options{
		Identity:                     identity,
		WorkflowTaskPollerBehavior:   pollers(1),
		ActivityTaskPollerBehavior:   pollers(1),
		StickyScheduleToStartTimeout: stickyTimeout,
		MaxHeartbeatThrottleInterval: activities.HeartbeatInterval,
		WorkerStopTimeout:            stopTimeout,
		OnFatalError:                 onFatal,
		DeploymentOptions:            deployment.options(),
	}
}

func pollers(least int) worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		MinimumNumberOfPollers: least, MaximumNumberOfPollers: maxPollers,
	})
}

// Start starts polling and renewing the lease; the first renewal is done when it
// returns.
func (r *Regions) Start(ctx context.Context) error {
	used, err := r.usedAtStart(ctx)
	if err != nil {
		return err
	}
	// The lease comes second: a region is online once a worker polls it, or will within a
	// second of its first work.
	err = r.workers.start(ctx, used)
	if err == nil {
		err = r.firstRenewal(ctx)
	}
	if err != nil {
		r.workers.stop()
		return err
	}
	serveCtx, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	renewCtx, stopRenewal := context.WithCancel(context.WithoutCancel(ctx))
	r.stopServing, r.stopRenewal = stopServing, stopRenewal
	r.serving.Go(func() { r.serve(serveCtx) })
	if r.opts.Watcher.Completer != nil {
		r.serving.Go(func() { r.adopt(serveCtx) })
	}
	r.renewal.Go(func() { every(renewCtx, fleet.LeaseRenewal, r.renew) })
	r.renewal.Go(func() { every(renewCtx, fleet.LeaseRenewal, r.claim) })
	return nil
}

// Stop leaves the turns that rows name to be adopted, hands the others over, and returns when all
// workers are idle, after about ten seconds at most. The lease is revoked as soon as no turn waits
// here any more: the other workers of a region adopt its turns with their next renewal, and when
// there are none, the next worker that starts. What is left of the lease is released last, when
// every loop of it is claimed.
func (r *Regions) Stop(ctx context.Context) {
	draining, cancel := context.WithTimeout(ctx, stopTimeout) // the turns end while the workers stop
	defer cancel()
	r.stopServing()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.workers.stop()
		r.serving.Wait()
		r.workers.stop() // one that was just starting
	}()
	// A probe in flight may take longer, and does not hold up the other turns.
	waiting, cancelWait := context.WithTimeout(draining, leaveTimeout)
	defer cancelWait()
	select {
	case <-stopped:
		r.opts.Watcher.Rest(waiting)
	case <-waiting.Done():
	}
	r.stopRenewal()
	r.renewal.Wait()
	r.lease.Release()
	r.claim(ctx)
	if err := r.opts.Leases.GiveUpLease(ctx, r.opts.Name); err != nil {
		r.opts.Log.WarnContext(ctx, "lease not revoked, it will expire", "error", err)
	}
	select {
	case <-stopped:
	case <-ctx.Done():
	}
	r.opts.Watcher.Drain(draining)
	r.claim(ctx)
	if err := r.opts.Leases.ReleaseLease(ctx, r.opts.Name); err != nil {
		r.opts.Log.WarnContext(ctx, "lease not released, it will be forgotten", "error", err)
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
	r.health.difference = timing.Ahead(sent, r.opts.Now(), clock)
	return r.renewOnce(ctx)
}

func (r *Regions) renewOnce(ctx context.Context) error {
	unavailable, blind := r.opts.Capabilities.Unavailable(ctx), time.Time{}
	if r.opts.BlindSince != nil {
		blind = r.opts.BlindSince()
	}
	ctx, cancel := context.WithTimeout(ctx, renewalTimeout)
	defer cancel()
	sent := r.opts.Now()
	grant, err := r.opts.Leases.RenewLease(ctx, fleet.Renewal{
		Worker: r.opts.Name, Regions: r.opts.Regions, Unavailable: unavailable, ClockDifference: r.health.difference,
		BlindSince: blind, Build: r.opts.Deployment.build(),
	})
	if err != nil {
		return err
	}
	difference := timing.Ahead(sent, r.opts.Now(), grant.Clock)
	lost := r.lease.Renewed(sent, grant.Fences, difference)
	r.opts.Watcher.ForgetClaims(lost)
	r.offer(grant.Revoked)
	r.health.renewed(ctx, sent, difference, lost)
	return nil
}

// claim records the loops whose turns run here: the sweep must know them if this
// process dies before it has stored a result.
func (r *Regions) claim(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	for region, checks := range r.opts.Watcher.TakeClaims() {
		if err := r.opts.Leases.ClaimLoops(ctx, fleet.Lease{Worker: r.opts.Name, Region: region}, checks); err != nil {
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
