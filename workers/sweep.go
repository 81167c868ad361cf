package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"vigil"
)

// The rhythm of the sweep.
const (
	sweepEvery   = time.Second
	overdueEvery = 2 * time.Second
	upkeepEvery  = 10 * time.Minute
	// overdueGrace is what a loop may be late beyond its deadline before it is
	// nudged.
	overdueGrace = time.Minute
	// stopGrace is what a loop gets to stop before it is terminated.
	stopGrace = 30 * time.Second
	// terminateTime bounds the termination of a loop: whoever adds its region
	// again waits for it.
	terminateTime = 2 * time.Second
	// clearTime bounds the removal of results in a pass.
	clearTime = 2 * time.Second
	// sweepBatch bounds a pass, and with it the signals a second.
	sweepBatch = 200
	// settled is how long Postgres must have answered before silence of a
	// worker is believed: while it was away, nobody could renew.
	settled = leaseSilence + leaseRenewal
	// leaderName is the advisory lock that elects the sweep.
	leaderName = "vigil-sweep"
)

// ledger is what the sweep reads and marks.
type ledger interface {
	desired
	Lagging(ctx context.Context, limit int) ([]vigil.Loop, error)
	Overdue(ctx context.Context, now time.Time, grace time.Duration, regions []string, limit int) ([]vigil.Loop, error)
	MarkNudged(ctx context.Context, checkID uuid.UUID, region string, at time.Time) error
	SilentLeases(ctx context.Context, silence time.Duration) ([]vigil.Lease, error)
	AbandonedLoops(ctx context.Context, lease vigil.Lease) ([]vigil.Loop, error)
	ForgetLease(ctx context.Context, lease vigil.Lease, silence time.Duration) error
	LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
	Tombstones(ctx context.Context, limit int) ([]vigil.Tombstone, error)
	HoldTombstone(ctx context.Context, stone vigil.Tombstone, do func(context.Context) error) error
	PurgeLoop(ctx context.Context, stone vigil.Tombstone) (done bool, err error)
	Leader(ctx context.Context, name string) (held vigil.Leadership, ok bool, err error)
}

// keeper is the housekeeping of storage.
type keeper interface {
	EnsurePartitions(ctx context.Context, now time.Time) error
	DropExpired(ctx context.Context, now time.Time) error
	ExpireChecks(ctx context.Context, now time.Time) (int, error)
}

// Sweep makes Temporal agree with Postgres, whatever was lost on the way: it
// applies revisions that Temporal has not accepted, nudges the loops of workers
// that fell silent and loops that are overdue, ends the loops of checks that are
// gone, and looks after incidents and deliveries (see CoverAlerts). One process is
// elected for it; two at once would do no harm, since every repair may be repeated.
type Sweep struct {
	loops  *Loops
	store  ledger
	upkeep keeper
	now    func() time.Time
	log    *slog.Logger
	// incidents and alerts are nil where nobody alerts.
	incidents *Incidents
	alerts    alertLedger

	jobs    gocron.Scheduler
	lookout lookout
	orphans orphanage         // touched by the pass over abandoned loops alone
	ended   []vigil.Tombstone // of loops known to have ended, with results left; touched by the pass over graves alone
	elected *elector
	// alertsCalm is since when the pass over incidents has not failed.
	alertsCalm time.Time
}

// NewSweep returns a sweep, not started.
func NewSweep(loops *Loops, store ledger, upkeep keeper, now func() time.Time, log *slog.Logger) *Sweep {
	return &Sweep{loops: loops, store: store, upkeep: upkeep, now: now, log: log, elected: &elector{store: store}}
}

// Start schedules the passes; they run until Stop.
func (s *Sweep) Start(ctx context.Context) error {
	jobs, err := gocron.NewScheduler(gocron.WithLocation(time.UTC), gocron.WithDistributedElector(s.elected))
	if err != nil {
		return fmt.Errorf("make the scheduler: %w", err)
	}
	s.jobs = jobs
	type pass struct {
		name  string
		every time.Duration
		pass  func(context.Context) error
	}
	passes := []pass{
		{"loops", sweepEvery, s.apply},
		{"leases", sweepEvery, s.look},
		{"abandoned", sweepEvery, s.abandoned},
		{"graves", sweepEvery, s.bury},
		{"overdue", overdueEvery, s.overdue},
		{"upkeep", upkeepEvery, s.housekeeping},
	}
	if s.alerts != nil {
		passes = append(passes, pass{"alerts", alertsEvery, s.alertsPass})
	}
	for _, job := range passes {
		_, err := jobs.NewJob(gocron.DurationJob(job.every), gocron.NewTask(s.attempt, job.name, job.pass),
			gocron.WithName(job.name), gocron.WithContext(ctx),
			gocron.WithSingletonMode(gocron.LimitModeReschedule), gocron.WithStartAt(gocron.WithStartImmediately()))
		if err != nil {
			return fmt.Errorf("schedule %s: %w", job.name, err)
		}
	}
	jobs.Start()
	return nil
}

// Stop ends the passes and gives the leadership up.
func (s *Sweep) Stop() error {
	err := s.jobs.Shutdown()
	s.elected.resign()
	return err
}

// attempt runs one pass. After a failure the leadership is given up: the
// connection that held it may be gone, and the next tick elects anew.
func (s *Sweep) attempt(ctx context.Context, name string, pass func(context.Context) error) {
	if err := pass(ctx); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "sweep pass failed, it is repeated", "pass", name, "error", err)
		s.elected.resign()
	}
}

// elector holds the advisory lock that lets one process sweep.
type elector struct {
	store ledger

	mu   sync.Mutex
	held vigil.Leadership // nil: not the leader
}

// errFollower says that another process sweeps.
var errFollower = errors.New("another process leads")

// IsLeader returns nil in the process that sweeps; it is asked before every
// pass. A leader whose connection was lost is one no longer, even if no pass of
// its own failed: another may have been elected meanwhile.
func (e *elector) IsLeader(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held != nil {
		if e.held.Held(ctx) == nil {
			return nil
		}
		e.drop()
	}
	held, ok, err := e.store.Leader(ctx, leaderName)
	if err != nil {
		return err
	}
	if !ok {
		return errFollower
	}
	e.held = held
	return nil
}

func (e *elector) resign() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop()
}

// drop needs the lock.
func (e *elector) drop() {
	if e.held != nil {
		e.held.Release()
		e.held = nil
	}
}
