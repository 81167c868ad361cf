// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// slowStore is a store with a worker that stopped renewing its lease long ago. The
// durations are how long its calls take.
type slowStore struct {
	emptyStore

	lagging, marking, purging, reading time.Duration

	stones int // tombstones

	mu        sync.Mutex
	nudges    map[uuid.UUID]int // of each loop of the worker
	left      int               // loops that were not nudged
	forgotten bool              // the lease of the worker
	revoked   bool
	returned  bool // the worker renews its lease again before it is revoked
	silent    func(passed time.Duration) error
	began     time.Time
	done      time.Time // when the last loop was nudged
}

func (s *slowStore) Lagging(context.Context, []int, int) ([]vigil.Loop, error) {
	time.Sleep(s.lagging) // sleep: a slow database
	return nil, nil
}

func (s *slowStore) MarkNudged(_ context.Context, _ fleet.SweepLease, check uuid.UUID, _ string) error {
	time.Sleep(s.marking) // sleep: a slow database
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.revoked {
		return errors.New("a loop was nudged before the lease of its worker was revoked")
	}
	if s.nudges[check]++; s.nudges[check] == 1 {
		s.left--
	}
	if s.left == 0 && s.done.IsZero() {
		s.done = time.Now()
	}
	return nil
}

func (s *slowStore) SilentLeases(context.Context, time.Duration) ([]fleet.Lease, error) {
	if s.silent != nil {
		if err := s.silent(time.Since(s.began)); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	forgotten := s.forgotten
	s.mu.Unlock()
	time.Sleep(s.reading) // sleep: a slow database
	if forgotten {
		return nil, nil
	}
	return []fleet.Lease{{Worker: "dead", Region: region}}, nil
}

func (s *slowStore) ForgetLease(context.Context, fleet.Lease, time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgotten = s.left == 0
	return nil
}

func (s *slowStore) RevokeLease(context.Context, fleet.Lease, time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	return !s.returned, nil
}

func (s *slowStore) AbandonedLoops(_ context.Context, _ fleet.Lease, _ time.Duration, _ []int, limit int) ([]vigil.Loop, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var loops []vigil.Loop
	for check, nudged := range s.nudges {
		if nudged == 0 && len(loops) < limit {
			loops = append(loops, vigil.Loop{CheckID: check, Region: region})
		}
	}
	return loops, nil
}

func (s *slowStore) Tombstones(context.Context, []int, int) ([]vigil.Tombstone, error) {
	stones := make([]vigil.Tombstone, s.stones)
	for i := range stones {
		stones[i].CheckID = uuid.NewSHA1(uuid.Nil, []byte{byte(i)})
	}
	return stones, nil
}

func (s *slowStore) PurgeLoop(context.Context, vigil.Tombstone) (bool, error) {
	time.Sleep(s.purging) // sleep: a slow database
	return false, nil
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
		// 800 with a parallelism of 8 take 20 s.
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
				time.Sleep(8 * time.Second) // sleep: a slow database
			}
			return nil
		}}, 200, 13 * time.Second, 17 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := test.store
				store.nudges, store.left, store.began = make(map[uuid.UUID]int), test.loops, time.Now()
				for range test.loops {
					store.nudges[uuid.New()] = 0
				}
				sweepFor(t, time.Minute, store, &workflows{})

				store.mu.Lock()
				defer store.mu.Unlock()
				if store.left > 0 || !store.forgotten {
					t.Fatalf("%d loops were not nudged, the lease is forgotten: %v", store.left, store.forgotten)
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

// TestWorkerThatRenewsInTimeKeepsItsLoops proves that the sweep nudges no loop of a worker
// that has renewed its lease after the sweep found it silent.
func TestWorkerThatRenewsInTimeKeepsItsLoops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{began: time.Now(), nudges: map[uuid.UUID]int{uuid.New(): 0}, left: 1, returned: true}
		sweepFor(t, 20*time.Second, store, &workflows{})
		if !store.revoked || store.left != 1 || store.forgotten {
			t.Errorf("revoked %v, %d loops left, forgotten %v", store.revoked, store.left, store.forgotten)
		}
	})
}
