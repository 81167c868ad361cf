package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"vigil"
)

// How often each pass runs, and how much one may do.
const (
	loopsInterval        = time.Second
	overdueInterval      = 2 * time.Second
	incidentsInterval    = 5 * time.Second
	housekeepingInterval = 10 * time.Minute
	// passLimit bounds the rows of a pass, and with them the signals per second.
	passLimit = 200
)

// loops starts, signals and terminates the workflows of checks. Every call may be
// repeated.
type loops interface {
	Apply(ctx context.Context, loop vigil.Loop) error
	Nudge(ctx context.Context, loop vigil.Loop) error
	Running(ctx context.Context, stone vigil.Tombstone) (bool, error)
	Lost(ctx context.Context, loop vigil.Loop) (bool, error)
	Terminate(ctx context.Context, checkID uuid.UUID, region string) error
}

// loopStore is what the sweep reads and marks of loops and leases.
type loopStore interface {
	elections
	leaseStore
	Lagging(ctx context.Context, limit int) ([]vigil.Loop, error)
	Overdue(ctx context.Context, now time.Time, grace time.Duration, regions []string, limit int) ([]vigil.Loop, error)
	MarkNudged(ctx context.Context, checkID uuid.UUID, region string, at time.Time) error
	RevokeLease(ctx context.Context, lease vigil.Lease, silence time.Duration) (bool, error)
	AbandonedLoops(ctx context.Context, lease vigil.Lease, nudgedBefore time.Time) ([]vigil.Loop, error)
	ForgetLease(ctx context.Context, lease vigil.Lease, silence time.Duration) error
	LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
	OverloadedRegions(ctx context.Context, silence time.Duration) (map[string]time.Duration, error)
	tombstoneStore
}

// housekeeping creates the partitions of the days to come and drops what is
// expired.
type housekeeping interface {
	EnsurePartitions(ctx context.Context, now time.Time) error
	DropExpired(ctx context.Context, now time.Time) error
	ExpireChecks(ctx context.Context, now time.Time) (int, error)
}

// Options are the parts of a sweep. All are required, except Incidents and
// IncidentStore, which go together: nil leaves incidents and deliveries out.
type Options struct {
	Loops         loops
	Store         loopStore
	Housekeeping  housekeeping
	Incidents     incidents
	IncidentStore incidentStore
	Now           func() time.Time
	Log           *slog.Logger
}

// Sweep makes Temporal agree with Postgres: it
// applies revisions that Temporal has not accepted, nudges overdue loops and those
// of workers that disappeared, ends the loops of deleted checks, and restarts
// incident and delivery workflows. One process is elected for it; two at once would
// do no harm, since every repair may be repeated.
type Sweep struct {
	loops        loops
	store        loopStore
	housekeeping housekeeping
	now          func() time.Time
	log          *slog.Logger

	leases     *leaseMonitor
	abandoned  *abandonedLoops
	suspects   *suspects
	tombstones *tombstones
	incidents  *incidentRepair // nil: incidents are left out

	jobs    gocron.Scheduler
	elector *elector
}

// New returns a sweep that has not started.
func New(opts Options) *Sweep {
	s := &Sweep{
		loops: opts.Loops, store: opts.Store, housekeeping: opts.Housekeeping, now: opts.Now, log: opts.Log,
		leases:  &leaseMonitor{store: opts.Store, now: opts.Now},
		elector: &elector{store: opts.Store},
	}
	s.abandoned = &abandonedLoops{store: opts.Store, leases: s.leases, nudge: s.nudge, now: opts.Now, log: opts.Log}
	s.suspects = &suspects{store: opts.Store, lost: opts.Loops.Lost, nudge: s.nudge, now: opts.Now}
	s.tombstones = &tombstones{store: opts.Store, loops: opts.Loops, incidents: opts.Incidents, now: opts.Now}
	if opts.IncidentStore != nil {
		s.incidents = &incidentRepair{incidents: opts.Incidents, store: opts.IncidentStore, now: opts.Now}
	}
	return s
}

// pass is one of the jobs of a sweep.
type pass struct {
	name  string
	every time.Duration
	run   func(context.Context) error
}

func (s *Sweep) passes() []pass {
	all := []pass{
		{"loops", loopsInterval, s.applyLagging},
		{"leases", loopsInterval, s.leases.check},
		{"abandoned", loopsInterval, s.abandoned.repair},
		{"tombstones", loopsInterval, s.tombstones.process},
		{"overdue", overdueInterval, s.nudgeOverdue},
		{"suspects", overdueInterval, s.suspects.inspect},
		{"housekeeping", housekeepingInterval, s.keepHouse},
	}
	if s.incidents != nil {
		all = append(all, pass{"incidents", incidentsInterval, s.incidents.repair})
	}
	return all
}

// Start schedules the passes; they run until Stop.
func (s *Sweep) Start(ctx context.Context) error {
	jobs, err := gocron.NewScheduler(gocron.WithLocation(time.UTC), gocron.WithDistributedElector(s.elector))
	if err != nil {
		return fmt.Errorf("create the scheduler: %w", err)
	}
	s.jobs = jobs
	for _, pass := range s.passes() {
		_, err := jobs.NewJob(gocron.DurationJob(pass.every), gocron.NewTask(s.attempt, pass.name, pass.run),
			gocron.WithName(pass.name), gocron.WithContext(ctx),
			gocron.WithSingletonMode(gocron.LimitModeReschedule), gocron.WithStartAt(gocron.WithStartImmediately()))
		if err != nil {
			return fmt.Errorf("schedule %s: %w", pass.name, err)
		}
	}
	jobs.Start()
	return nil
}

// Stop ends the passes and gives up the lead.
func (s *Sweep) Stop() error {
	err := s.jobs.Shutdown()
	s.elector.resign()
	return err
}

// attempt runs one pass. After a failure it gives up the lead: the connection that
// holds the lock may be gone.
func (s *Sweep) attempt(ctx context.Context, name string, run func(context.Context) error) {
	if err := run(ctx); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "sweep pass failed and will be retried", "pass", name, "error", err)
		s.elector.resign()
	}
}
