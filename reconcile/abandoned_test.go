package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/reconcile"
)

// stoppedLoops accept every nudge; none runs that has to end.
type stoppedLoops struct{}

func (stoppedLoops) Apply(context.Context, vigil.Loop) error                { return nil }
func (stoppedLoops) Nudge(context.Context, vigil.Loop) error                { return nil }
func (stoppedLoops) Running(context.Context, vigil.Tombstone) (bool, error) { return false, nil }
func (stoppedLoops) Lost(context.Context, vigil.Loop) (bool, error)         { return false, nil }
func (stoppedLoops) Terminate(context.Context, uuid.UUID, string) error     { return nil }

// slowStore is a store with a worker that stopped renewing its lease long ago. The
// durations are how long its calls take.
type slowStore struct {
	lagging, marking, purging, reading time.Duration

	stones int           // tombstones
	lead   time.Duration // after which another process leads; zero: never

	mu        sync.Mutex
	nudges    map[uuid.UUID]int // of each loop of the worker
	left      int               // loops that were not nudged
	forgotten bool              // the lease of the worker
	revoked   bool
	returned  bool      // the worker renews its lease again before it is revoked
	unclaimed uuid.UUID // a loop that no worker claims after its first nudge
	last      time.Time // when a loop was nudged last
	silent    func(passed time.Duration) error
	began     time.Time
	done      time.Time // when the last loop was nudged
}

func (s *slowStore) Lagging(context.Context, int) ([]vigil.Loop, error) {
	time.Sleep(s.lagging)
	return nil, nil
}

func (s *slowStore) MarkNudged(_ context.Context, check uuid.UUID, _ string, _ time.Time) error {
	time.Sleep(s.marking)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.revoked {
		return errors.New("a loop was nudged before the lease of its worker was revoked")
	}
	s.last = time.Now()
	if s.nudges[check]++; s.nudges[check] == 1 {
		s.left--
	}
	if s.left == 0 && s.done.IsZero() {
		s.done = time.Now()
	}
	return nil
}

func (s *slowStore) SilentLeases(context.Context, time.Duration) ([]vigil.Lease, error) {
	if s.silent != nil {
		if err := s.silent(time.Since(s.began)); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	forgotten := s.forgotten
	s.mu.Unlock()
	time.Sleep(s.reading)
	if forgotten {
		return nil, nil
	}
	return []vigil.Lease{{Worker: "dead", Region: "eu-central-fra"}}, nil
}

func (s *slowStore) ForgetLease(context.Context, vigil.Lease, time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = true
	return nil
}

func (s *slowStore) RevokeLease(context.Context, vigil.Lease, time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	return !s.returned, nil
}

// AbandonedLoops returns all loops first, then those that no worker claims.
func (s *slowStore) AbandonedLoops(_ context.Context, _ vigil.Lease, nudgedBefore time.Time) ([]vigil.Loop, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var loops []vigil.Loop
	for check, times := range s.nudges {
		if !nudgedBefore.IsZero() && (check != s.unclaimed || times > 1 || nudgedBefore.Before(s.last)) {
			continue
		}
		loops = append(loops, vigil.Loop{CheckID: check, Region: "eu-central-fra"})
	}
	return loops, nil
}

func (*slowStore) OverloadedRegions(context.Context, time.Duration) (map[string]time.Duration, error) {
	return nil, nil //nolint:nilnil // none
}

func (*slowStore) LiveRegions(context.Context, time.Duration) (map[string][]vigil.CheckType, error) {
	return map[string][]vigil.CheckType{"eu-central-fra": nil}, nil
}

func (s *slowStore) Tombstones(context.Context, int) ([]vigil.Tombstone, error) {
	stones := make([]vigil.Tombstone, s.stones)
	for i := range stones {
		stones[i].CheckID = uuid.NewSHA1(uuid.Nil, []byte{byte(i)})
	}
	return stones, nil
}

func (s *slowStore) PurgeLoop(context.Context, vigil.Tombstone) (bool, error) {
	time.Sleep(s.purging)
	return false, nil
}

func (*slowStore) MarkApplied(context.Context, uuid.UUID, string, int64) error { return nil }
func (*slowStore) EnsurePartitions(context.Context, time.Time) error           { return nil }
func (*slowStore) DropExpired(context.Context, time.Time) error                { return nil }
func (*slowStore) ExpireChecks(context.Context, time.Time) (int, error)        { return 0, nil }
func (*slowStore) HoldTombstone(context.Context, vigil.Tombstone, func(context.Context) error) error {
	return nil
}

func (*slowStore) Overdue(context.Context, time.Time, time.Duration, []string, int) ([]vigil.Loop, error) {
	return nil, nil
}

// Leader grants the lead until its time is over.
func (s *slowStore) Leader(ctx context.Context, _ string) (interface {
	Held(ctx context.Context) error
	Release()
}, bool, error,
) {
	return s, s.Held(ctx) == nil, nil
}

func (s *slowStore) Held(context.Context) error {
	if s.lead > 0 && time.Since(s.began) > s.lead {
		return context.Canceled
	}
	return nil
}

func (*slowStore) Release() {}

func newSweep(store *slowStore, log *slog.Logger) *reconcile.Sweep {
	return reconcile.New(reconcile.Options{Loops: stoppedLoops{}, Store: store, Housekeeping: store, Now: time.Now, Log: log})
}

// TestTakeoverUnderLoad proves that the loops of a dead worker are nudged, once each,
// no matter how slow the other passes or the nudges are.
func TestTakeoverUnderLoad(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		store     *slowStore
		loops     int
		after, by time.Duration
	}{
		// A lease counts as abandoned after Postgres has answered for four seconds.
		"Healthy":             {&slowStore{}, 400, 3 * time.Second, 7 * time.Second},
		"WhileApplyingIsSlow": {&slowStore{lagging: 5 * time.Second}, 400, 3 * time.Second, 7 * time.Second},
		"WhilePurging":        {&slowStore{stones: 20, purging: time.Second}, 400, 3 * time.Second, 7 * time.Second},
		// 200 with a parallelism of 8 take 5 s per pass.
		"WhileNudgesAreSlow": {&slowStore{marking: 200 * time.Millisecond}, 800, 22 * time.Second, 30 * time.Second},
		// The reading of the leases may be older than what was done about them.
		"WhileReadingIsSlow": {&slowStore{reading: 1900 * time.Millisecond}, 400, 5 * time.Second, 10 * time.Second},
		// No worker could renew before the database was back.
		"NotBeforePostgresIsHealthy": {&slowStore{silent: func(passed time.Duration) error {
			if passed > 10*time.Second {
				return nil
			}
			return context.DeadlineExceeded
		}}, 200, 13 * time.Second, 17 * time.Second},
		"NotAfterAGap": {&slowStore{silent: func(passed time.Duration) error {
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
				store.nudges, store.left, store.began = make(map[uuid.UUID]int), test.loops, time.Now()
				for range test.loops {
					store.nudges[uuid.New()] = 0
				}
				sweep := newSweep(store, quiet)
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
				for check, times := range store.nudges {
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

// TestLostLeadStopsTheSweep proves that a process that lost its lock stops sweeping,
// although none of its passes failed.
func TestLostLeadStopsTheSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last time.Duration
		quiet := slog.New(slog.DiscardHandler)
		store := &slowStore{began: time.Now(), lead: 10 * time.Second, silent: func(passed time.Duration) error {
			last = passed
			return nil
		}}
		sweep := newSweep(store, quiet)
		if err := sweep.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := sweep.Stop(); err != nil {
			t.Error(err)
		}
		if last < 9*time.Second || last > 10*time.Second {
			t.Errorf("the last pass was after %v of a lead of 10 s", last)
		}
	})
}

// TestUnclaimedLoopIsNudgedAgain proves that a loop whose new turn reached no living worker
// gets another nudge, and that the lease is kept until then.
func TestUnclaimedLoopIsNudgedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{began: time.Now(), nudges: map[uuid.UUID]int{}, left: 3, unclaimed: uuid.New()}
		for _, check := range []uuid.UUID{store.unclaimed, uuid.New(), uuid.New()} {
			store.nudges[check] = 0
		}
		sweep := newSweep(store, slog.New(slog.DiscardHandler))
		if err := sweep.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		store.mu.Lock()
		if took := store.last.Sub(store.done); took < 10*time.Second || took > 12*time.Second || store.forgotten {
			t.Errorf("nudged again after %v, the lease is removed: %v", took, store.forgotten)
		}
		store.mu.Unlock()
		time.Sleep(time.Minute)
		if err := sweep.Stop(); err != nil {
			t.Error(err)
		}
		for check, times := range store.nudges {
			if want := map[bool]int{false: 1, true: 2}[check == store.unclaimed]; times != want {
				t.Errorf("a loop was nudged %d times, want %d", times, want)
			}
		}
		if !store.forgotten {
			t.Error("the lease is never removed")
		}
	})
}

// TestWorkerThatRenewsInTimeKeepsItsLoops proves that the sweep nudges no loop of a worker
// that has renewed its lease after the sweep found it silent.
func TestWorkerThatRenewsInTimeKeepsItsLoops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{began: time.Now(), nudges: map[uuid.UUID]int{uuid.New(): 0}, left: 1, returned: true}
		sweep := newSweep(store, slog.New(slog.DiscardHandler))
		if err := sweep.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if err := sweep.Stop(); err != nil {
			t.Error(err)
		}
		if !store.revoked || store.left != 1 || store.forgotten {
			t.Errorf("revoked %v, %d loops left, forgotten %v", store.revoked, store.left, store.forgotten)
		}
	})
}
