// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// How often each pass runs, how long it may take, and how much it may do. A pass that
// is still running is not started a second time.
const (
	loopsInterval        = fleet.SweepPass
	maintenanceInterval  = loopsInterval / 2 // what fails is reported within 2 s of the end
	overdueInterval      = 2 * time.Second
	temporalInterval     = 2 * time.Second // a restore is found within a second or two
	incidentsInterval    = 5 * time.Second
	housekeepingInterval = 10 * time.Minute
	// housekeepingLook is how soon the process that has the common shard finds that
	// housekeeping is due.
	housekeepingLook = 10 * time.Second

	passTimeout         = 30 * time.Second
	housekeepingTimeout = housekeepingInterval
	// passLimit bounds the rows of a pass, and with them the signals per second.
	passLimit = 200
	// startDelay is how long after Start the first passes begin.
	startDelay = 100 * time.Millisecond

	// stopTimeout bounds how long Stop waits for passes, and for the release of the shards.
	stopTimeout = 5 * time.Second
)

// loops starts, signals and terminates the workflows of checks. Every call may be
// repeated.
type loops interface {
	Apply(ctx context.Context, loop vigil.Loop) error
	Nudge(ctx context.Context, loop vigil.Loop) error
	Running(ctx context.Context, stone vigil.Tombstone) (bool, error)
	// Holder says who has the turn of a loop, as Temporal knows it.
	Holder(ctx context.Context, loop vigil.Loop) (vigil.TurnHolder, error)
	Terminate(ctx context.Context, checkID uuid.UUID, region string) error
}

// loopStore is what the sweep reads and marks of loops and leases.
type loopStore interface {
	shardStore
	leaseStore
	tombstoneStore
	workStore
	Lagging(ctx context.Context, shards []int, limit int) ([]vigil.Loop, error)
	Starting(ctx context.Context, shards []int) (map[string]int, error)
	WaitingToStart(ctx context.Context, shards []int, after time.Time) (recent int, oldest time.Time, err error)
	Overdue(ctx context.Context, now time.Time, grace time.Duration, regions []string, shards []int, limit int) ([]vigil.Loop, error)
	NotBegun(ctx context.Context, grace time.Duration, regions []string, shards []int, limit int) ([]vigil.Loop, error)
	MarkNudged(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, region string) error
	PutOffNudge(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, region string) error
	LiveLeases(ctx context.Context, silence time.Duration) ([]fleet.Lease, error)
	RevokeLease(ctx context.Context, lease fleet.Lease, silence time.Duration) (bool, error)
	AbandonedLoops(ctx context.Context, lease fleet.Lease, silence time.Duration, shards []int, limit int) ([]vigil.Loop, error)
	ForgetLease(ctx context.Context, lease fleet.Lease, silence time.Duration) error
	LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
	OverloadedRegions(ctx context.Context, silence time.Duration) (map[string]time.Duration, error)
	UnobservedLoops(ctx context.Context) (map[string]int64, error)
	// RecordBlindRegions records which regions are blind by their leases, and PublishBlindRegions
	// publishes it to up to limit organizations and returns to how many.
	RecordBlindRegions(ctx context.Context, lease fleet.SweepLease, silence time.Duration) error
	PublishBlindRegions(ctx context.Context, limit int) (int, error)
}

// housekeeping creates the partitions of the days to come and drops what is
// expired.
type housekeeping interface {
	EnsurePartitions(ctx context.Context, now time.Time) error
	ExtendMaintenance(ctx context.Context) error
	DropExpired(ctx context.Context, now time.Time) error
	ExpireChecks(ctx context.Context, now time.Time) (int, error)
	PurgeOrganizations(ctx context.Context, now time.Time) error
}

// Options are the parts of a sweep. All are required, except pairs that go together:
// without Incidents and IncidentStore incidents and deliveries are left out, without
// Sentinel and Epochs neither a loss of Temporal's store nor a restore is noticed.
type Options struct {
	Process       string // name of this process among those that sweep, never used twice
	Loops         loops
	Store         loopStore
	Housekeeping  housekeeping
	Incidents     incidents
	IncidentStore incidentStore
	Sentinel      sentinel
	Epochs        epochStore
	Drills        drillStore // nil: drills are left out
	// DefaultDrills makes the schedule of drills that the operator has by default, once; nil: there is none.
	DefaultDrills func(ctx context.Context) error
	Reports       reportStore // nil: no report is sent by a schedule
	// PublicURL is the address at which the platform is reached, for links in messages.
	PublicURL string
	// KeyEnds mails the owners of API keys that end soon; nil: none is mailed.
	KeyEnds func(ctx context.Context) error
	// Channels mails owners about channels and drills that fail; nil: none is mailed.
	Channels func(ctx context.Context) error
	// Away reports whether an error says that Postgres or Temporal does not answer, and
	// not that one row cannot be repaired.
	Away func(error) bool
	Now  func() time.Time // with a monotonic reading, as time.Now has
	Log  *slog.Logger
}

// Sweep makes Temporal agree with Postgres: it applies revisions that Temporal has not
// accepted, nudges overdue loops and those of workers that disappeared, ends the loops of
// deleted checks, and restarts incident and delivery workflows. Each process sweeps the
// shards that it has a lease of. Two at once would do no harm, since every repair may be
// repeated.
type Sweep struct {
	loops         loops
	store         loopStore
	drills        drillStore
	defaultDrills func(ctx context.Context) error
	reports       reportStore
	housekeeping  housekeeping
	keyEnds       func(ctx context.Context) error
	channels      func(ctx context.Context) error
	now           func() time.Time
	log           *slog.Logger

	creations     timing.Burst // of checks, which rows count
	shards        *shards
	glance        *glance
	repairs       *repairs
	leases        *leaseMonitor
	abandoned     *abandonedLoops
	suspects      *suspects
	tombstones    *tombstones
	unobserved    *unobservedLoops
	incidents     *incidentRepair // nil: incidents are left out
	temporalStore *temporalStore  // nil: not watched

	keptHouse time.Time // when housekeeping was last begun; used by its pass alone

	stopPasses context.CancelFunc
	running    sync.WaitGroup     // of the passes
	stop       context.CancelFunc // of the renewals
	renewals   sync.WaitGroup

	mu       sync.Mutex
	reported map[string]time.Time // when the failure of a pass was logged
}

// New returns a sweep that has not started.
func New(opts Options) *Sweep {
	s := &Sweep{
		loops:         opts.Loops,
		store:         opts.Store,
		housekeeping:  opts.Housekeeping,
		keyEnds:       opts.KeyEnds,
		drills:        opts.Drills,
		defaultDrills: opts.DefaultDrills,
		reports:       opts.Reports,
		channels:      opts.Channels,
		now:           opts.Now,
		log:           opts.Log,
		creations:     timing.Burst{Size: burstSize, Window: burstTime},
		shards:        &shards{store: opts.Store, process: opts.Process, now: opts.Now, log: opts.Log},
		glance:        &glance{store: opts.Store, now: opts.Now, turn: make(chan struct{}, 1)},
		repairs:       &repairs{away: opts.Away, now: opts.Now, log: opts.Log},
		leases:        &leaseMonitor{store: opts.Store, now: opts.Now},
		reported:      make(map[string]time.Time),
		unobserved:    &unobservedLoops{store: opts.Store},
	}
	s.abandoned = &abandonedLoops{store: opts.Store, leases: s.leases, nudge: s.nudge, now: opts.Now, log: opts.Log}
	s.suspects = &suspects{
		store: opts.Store, holder: opts.Loops.Holder, nudge: s.nudgeOf, repairs: s.repairs, now: opts.Now,
		turns: make(map[loopKey]string),
	}
	s.tombstones = &tombstones{store: opts.Store, loops: opts.Loops, incidents: opts.Incidents, repairs: s.repairs, now: opts.Now}
	if opts.IncidentStore != nil {
		s.incidents = &incidentRepair{
			incidents: opts.Incidents, store: opts.IncidentStore, repairs: s.repairs, glance: s.glance, now: opts.Now, publicURL: opts.PublicURL,
		}
	}
	if opts.Sentinel != nil {
		s.temporalStore = &temporalStore{sentinel: opts.Sentinel, store: opts.Epochs, log: opts.Log}
	}
	return s
}

// Shards returns how many shards of the sweep this process has, 0 to fleet.SweepShards+1.
func (s *Sweep) Shards() int { return s.shards.count() }

// Leads reports whether this process has the common shard, as one process does at a time.
func (s *Sweep) Leads() bool {
	return s.shards.fence(fleet.CommonShard) != 0
}

// scope is which processes run a pass.
type scope int

const (
	ofChecks scope = iota // those with a shard of checks
	ofCommon              // the one with the common shard
	ofAll
)

// pass is one of the jobs of a sweep.
type pass struct {
	name  string
	every time.Duration
	limit time.Duration // after which it ends without a result
	scope scope
	run   func(context.Context, work) error
}

func (s *Sweep) passes() []pass { return slices.Concat(s.sharing(), s.apart()) }

// sharing are the passes that run only where a glance finds work for them.
func (s *Sweep) sharing() []pass {
	where := s.glance.where
	late := func(f fleet.Work) bool { return f.Late }
	all := []pass{
		{"loops", loopsInterval, passTimeout, ofChecks, where(func(f fleet.Work) bool { return f.Lagging }, s.applyLagging)},
		{"tombstones", loopsInterval, passTimeout, ofChecks, where(func(f fleet.Work) bool { return f.Tombstones }, s.tombstones.end)},
		{"overdue", overdueInterval, passTimeout, ofChecks, where(late, s.nudgeOverdue)},
		{
			"suspects", overdueInterval, passTimeout, ofChecks,
			where(func(f fleet.Work) bool { return f.Late || f.NotBegun }, s.suspects.inspect),
		},
		{"blind regions", loopsInterval, passTimeout, ofCommon, where(func(f fleet.Work) bool { return f.Blind }, s.reportBlindRegions)},
		{
			"deleted organizations", incidentsInterval, housekeepingTimeout, ofCommon,
			where(func(f fleet.Work) bool { return f.Deleted }, s.purgeOrganizations),
		},
	}
	if s.channels != nil {
		mail := func(ctx context.Context, _ work) error { return s.channels(ctx) }
		all = append(all, pass{
			"mails about channels", incidentsInterval, passTimeout, ofCommon, where(func(f fleet.Work) bool { return f.Notices }, mail),
		})
	}
	if s.incidents != nil {
		all = append(all, s.incidents.passes()...)
	}
	if s.drills != nil {
		all = append(all,
			pass{"drills", incidentsInterval, passTimeout, ofCommon, where(func(f fleet.Work) bool { return f.Drills }, s.repairDrills)},
			pass{
				"drill schedules", incidentsInterval, passTimeout, ofCommon,
				where(func(f fleet.Work) bool { return f.DrillSchedules }, s.runDrillSchedules),
			})
	}
	if s.reports != nil {
		all = append(all, pass{
			"report schedules", incidentsInterval, passTimeout, ofCommon,
			where(func(f fleet.Work) bool { return f.ReportSchedules }, s.runReportSchedules),
		})
	}
	return all
}

// apart are the passes that look for themselves.
func (s *Sweep) apart() []pass {
	all := []pass{
		{"leases", loopsInterval, fleet.LeaseTimeout, ofAll, s.leases.check},
		{"abandoned", loopsInterval, passTimeout, ofChecks, s.abandoned.repair},
		{"results of deleted checks", loopsInterval, passTimeout, ofChecks, s.tombstones.purge},
		{"unobserved loops", incidentsInterval, passTimeout, ofCommon, s.unobserved.count},
		{"housekeeping", housekeepingLook, housekeepingTimeout, ofCommon, s.keepHouse},
	}
	if s.defaultDrills != nil {
		all = append(all, pass{"default drills", incidentsInterval, passTimeout, ofCommon, func(ctx context.Context, _ work) error {
			return s.defaultDrills(ctx)
		}})
	}
	if s.temporalStore != nil {
		all = append(all, pass{"temporal store", temporalInterval, passTimeout, ofCommon, s.temporalStore.check})
	}
	return all
}

// Start takes shards and begins the passes; they run until Stop, or until ctx ends.
func (s *Sweep) Start(ctx context.Context) {
	passCtx, stopPasses := context.WithCancel(ctx)
	for _, p := range s.sharing() { // together, so that they share their glance
		s.running.Go(func() { s.repeat(passCtx, p, startDelay) })
	}
	apart := s.apart()
	for i, p := range apart { // one after the other, which takes few connections
		begin := startDelay + time.Duration(i+1)*loopsInterval/time.Duration(len(apart)+1)
		s.running.Go(func() { s.repeat(passCtx, p, begin) })
	}
	s.stopPasses = stopPasses
	ctx, s.stop = context.WithCancel(ctx)
	started := s.shards.renew(ctx)
	s.renewals.Go(func() { s.shards.keep(ctx, started) })
}

// repeat runs a pass for the first time after begin, and then at its interval, until ctx ends. While it runs, its times pass
// by: it waits for the next one.
func (s *Sweep) repeat(ctx context.Context, p pass, begin time.Duration) {
	if timing.Sleep(ctx, begin) != nil {
		return
	}
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		s.attempt(ctx, p)
		select {
		case <-tick.C: // of the time that it took
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Stop ends the passes and gives up the shards.
func (s *Sweep) Stop() error {
	s.stopPasses()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
	case <-time.After(stopTimeout):
		err = fmt.Errorf("passes of the sweep still run %s after they were canceled", stopTimeout)
	}
	s.stop()
	s.renewals.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := s.shards.release(ctx); err != nil {
		s.log.DebugContext(ctx, "the sweep's shards were not released, they expire", "error", err)
	}
	return err
}

// Pass takes shards like a sweep that has started, runs one pass now, by its name, and returns
// its error. It is for those who run a sweep step by step.
func (s *Sweep) Pass(ctx context.Context, name string) error {
	if err := s.shards.renew(ctx); err != nil {
		return err
	}
	s.glance.forget()
	for _, p := range s.passes() {
		if p.name == name {
			return p.run(ctx, s.shards.current())
		}
	}
	return fmt.Errorf("no pass is called %q", name)
}

// attempt runs one pass over what this process has now. What fails stays with this
// process and is tried again; the other passes go on.
func (s *Sweep) attempt(ctx context.Context, p pass) {
	w := s.shards.current()
	switch _, common := w.lease(fleet.CommonShard); {
	case p.scope == ofChecks && len(w.checks()) == 0, p.scope == ofCommon && !common:
		return
	}
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	err := p.run(limited, w)
	if ctx.Err() == nil {
		s.report(ctx, p.name, err)
	}
}

// reportInterval is how often a pass that keeps failing is logged.
const reportInterval = time.Minute

// report logs the failure of a pass, and that it succeeds again.
func (s *Sweep) report(ctx context.Context, name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, failing := s.reported[name]
	switch now := s.now(); {
	case err == nil && failing:
		delete(s.reported, name)
		s.log.InfoContext(ctx, "sweep pass succeeds again", "pass", name)
	case err != nil && (!failing || now.Sub(last) >= reportInterval):
		s.reported[name] = now
		s.log.WarnContext(ctx, "sweep pass failed and will be retried", "pass", name, "error", err)
	}
}
