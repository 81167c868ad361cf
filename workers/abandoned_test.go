package workers_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"vigil"
	"vigil/workers"
)

// deaf is a Temporal that takes every nudge and runs no loop that has to end.
type deaf struct{ client.Client }

func (deaf) SignalWithStartWorkflow(context.Context, string, string, any, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, nil //nolint:nilnil // nobody looks at the run
}

func (deaf) SignalWorkflow(context.Context, string, string, string, any) error {
	return serviceerror.NewNotFound("no such workflow")
}

// slow is a ledger with a worker that fell silent long ago, whose answers take
// their time.
type slow struct {
	lagging, marking, clearing, looking time.Duration

	graves int
	reign  time.Duration // after it another leads; zero: for ever

	mu        sync.Mutex
	orphans   map[uuid.UUID]int // how often each was nudged; nobody claims them
	left      int               // that were not nudged
	forgotten bool              // the lease of the worker
	silent    func(passed time.Duration) error
	began     time.Time
	done      time.Time // when the last orphan was nudged
}

func (s *slow) Lagging(context.Context, int) ([]vigil.Loop, error) {
	time.Sleep(s.lagging)
	return nil, nil
}

func (s *slow) MarkNudged(_ context.Context, check uuid.UUID, _ string, _ time.Time) error {
	time.Sleep(s.marking)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orphans[check]++; s.orphans[check] == 1 {
		s.left--
	}
	if s.left == 0 && s.done.IsZero() {
		s.done = time.Now()
	}
	return nil
}

func (s *slow) SilentLeases(context.Context, time.Duration) ([]vigil.Lease, error) {
	if s.silent != nil {
		if err := s.silent(time.Since(s.began)); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	forgotten := s.forgotten
	s.mu.Unlock()
	time.Sleep(s.looking)
	if forgotten {
		return nil, nil
	}
	return []vigil.Lease{{Worker: "dead", Region: "eu-central-fra"}}, nil
}

func (s *slow) ForgetLease(context.Context, vigil.Lease, time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	return nil
}

func (s *slow) AbandonedLoops(context.Context, vigil.Lease) ([]vigil.Loop, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var loops []vigil.Loop
	for check := range s.orphans {
		loops = append(loops, vigil.Loop{CheckID: check, Region: "eu-central-fra"})
	}
	return loops, nil
}

func (*slow) LiveRegions(context.Context, time.Duration) (map[string][]vigil.CheckType, error) {
	return map[string][]vigil.CheckType{"eu-central-fra": nil}, nil
}

func (s *slow) Tombstones(context.Context, int) ([]vigil.Tombstone, error) {
	stones := make([]vigil.Tombstone, s.graves)
	for i := range stones {
		stones[i].CheckID = uuid.NewSHA1(uuid.Nil, []byte{byte(i)})
	}
	return stones, nil
}

func (s *slow) PurgeLoop(context.Context, vigil.Tombstone) (bool, error) {
	time.Sleep(s.clearing)
	return false, nil
}

func (*slow) MarkApplied(context.Context, uuid.UUID, string, int64) error { return nil }
func (*slow) EnsurePartitions(context.Context, time.Time) error           { return nil }
func (*slow) DropExpired(context.Context, time.Time) error                { return nil }
func (*slow) ExpireChecks(context.Context, time.Time) (int, error)        { return 0, nil }
func (*slow) HoldTombstone(context.Context, vigil.Tombstone, func(context.Context) error) error {
	return nil
}

func (*slow) Overdue(context.Context, time.Time, time.Duration, []string, int) ([]vigil.Loop, error) {
	return nil, nil
}

// Leader elects it until it is deposed.
func (s *slow) Leader(ctx context.Context, _ string) (vigil.Leadership, bool, error) {
	return s, s.Held(ctx) == nil, nil
}

func (s *slow) Held(context.Context) error {
	if s.reign > 0 && time.Since(s.began) > s.reign {
		return context.Canceled
	}
	return nil
}

func (*slow) Release() {}

// TestTakeoverUnderLoad holds that the loops of a dead worker are nudged however
// long the other work of the sweep takes, and the nudging itself, and once.
func TestTakeoverUnderLoad(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		store     *slow
		loops     int
		after, by time.Duration
	}{
		// Silence is believed after four seconds of calm.
		"Calm":                {&slow{}, 400, 3 * time.Second, 7 * time.Second},
		"WhileApplyingIsSlow": {&slow{lagging: 5 * time.Second}, 400, 3 * time.Second, 7 * time.Second},
		"WhileResultsGo":      {&slow{graves: 20, clearing: time.Second}, 400, 3 * time.Second, 7 * time.Second},
		// 200 at 8 side by side take 5 s a pass.
		"WhileNudgesAreSlow": {&slow{marking: 200 * time.Millisecond}, 800, 22 * time.Second, 30 * time.Second},
		// What was seen of the leases may be older than what was done about them.
		"WhileLookingIsSlow": {&slow{looking: 1900 * time.Millisecond}, 400, 5 * time.Second, 10 * time.Second},
		// Nobody could renew before the database was back.
		"NotBeforeItIsCalm": {&slow{silent: func(passed time.Duration) error {
			if passed > 10*time.Second {
				return nil
			}
			return context.DeadlineExceeded
		}}, 200, 13 * time.Second, 17 * time.Second},
		"NotAfterAGap": {&slow{silent: func(passed time.Duration) error {
			if passed >= 2*time.Second && passed < 4*time.Second {
				time.Sleep(8 * time.Second)
			}
			return nil
		}}, 200, 13 * time.Second, 17 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, quiet := test.store, slog.New(slog.DiscardHandler)
				store.orphans, store.left, store.began = make(map[uuid.UUID]int), test.loops, time.Now()
				for range test.loops {
					store.orphans[uuid.New()] = 0
				}
				sweep := workers.NewSweep(workers.NewLoops(deaf{}, store, quiet), store, store, time.Now, quiet)
				if err := sweep.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if err := sweep.Stop(); err != nil {
					t.Error(err)
				}
				store.mu.Lock()
				defer store.mu.Unlock()
				if store.left > 0 {
					t.Fatalf("%d loops were not nudged", store.left)
				}
				for check, times := range store.orphans {
					if times > 1 {
						t.Fatalf("loop %s was nudged %d times", check, times)
					}
				}
				if took := store.done.Sub(store.began); took < test.after || took > test.by {
					t.Errorf("all were nudged after %v, want %v to %v", took, test.after, test.by)
				}
			})
		})
	}
}

// TestDeposedLeader holds that a process whose lock was lost stops to sweep,
// although none of its passes failed.
func TestDeposedLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last time.Duration
		quiet := slog.New(slog.DiscardHandler)
		store := &slow{began: time.Now(), reign: 10 * time.Second, silent: func(passed time.Duration) error {
			last = passed
			return nil
		}}
		sweep := workers.NewSweep(workers.NewLoops(deaf{}, store, quiet), store, store, time.Now, quiet)
		if err := sweep.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := sweep.Stop(); err != nil {
			t.Error(err)
		}
		if last < 9*time.Second || last > 10*time.Second {
			t.Errorf("the last pass was after %v of a reign of 10 s", last)
		}
	})
}
