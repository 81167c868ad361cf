// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// leasedStore has loops that lag, of one check in each shard. The leases are what renew
// returns.
type leasedStore struct {
	emptyStore

	checks  []uuid.UUID
	renew   func(ctx context.Context, passed time.Duration) ([]fleet.SweepLease, error)
	reading time.Duration // how long Lagging takes
	began   time.Time

	mu     sync.Mutex
	shards [][]int // of the calls of Lagging
}

func (s *leasedStore) RenewSweep(ctx context.Context, _ string, _ []fleet.SweepLease, _ time.Duration) (fleet.SweepShare, error) {
	leases, err := s.renew(ctx, time.Since(s.began))
	return fleet.SweepShare{Leases: leases, Size: fleet.SweepShards + 1}, err
}

func (s *leasedStore) Lagging(_ context.Context, shards []int, _ int) ([]vigil.Loop, error) {
	s.mu.Lock()
	s.shards = append(s.shards, shards)
	s.mu.Unlock()
	time.Sleep(s.reading) // sleep: a slow database
	return loopsOf(slices.DeleteFunc(slices.Clone(s.checks), func(check uuid.UUID) bool {
		return !slices.Contains(shards, fleet.SweepShard(check))
	})), nil
}

// blackHole does not answer.
func blackHole(ctx context.Context) ([]fleet.SweepLease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestShards(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		renew   func(ctx context.Context, passed time.Duration) ([]fleet.SweepLease, error)
		reading time.Duration
		lasts   time.Duration // of the sweep
		first   time.Duration // of the calls of the workflow in shard 3; zero: none
		last    time.Duration
	}{
		"AreSweptWhileRenewed": {
			renew: func(context.Context, time.Duration) ([]fleet.SweepLease, error) { return allShards(1), nil },
			lasts: time.Minute, first: time.Second, last: time.Minute,
		},
		"OfOthersAreLeftAlone": {
			renew: func(context.Context, time.Duration) ([]fleet.SweepLease, error) {
				return slices.DeleteFunc(allShards(1), func(l fleet.SweepLease) bool { return l.Shard == 3 }), nil
			},
			lasts: time.Minute,
		},
		"AreLostAfterThreeSecondsWithoutAnAnswer": {
			renew: func(ctx context.Context, passed time.Duration) ([]fleet.SweepLease, error) {
				if passed < 10*time.Second {
					return allShards(1), nil
				}
				return blackHole(ctx)
			},
			lasts: time.Minute, first: time.Second, last: 13 * time.Second,
		},
		"ThatWereLostWhileReadingAreNotRepaired": { // as for a process that was frozen and thaws
			renew: func(ctx context.Context, passed time.Duration) ([]fleet.SweepLease, error) {
				if passed == 0 {
					return allShards(1), nil
				}
				return blackHole(ctx)
			},
			reading: 4 * time.Second, lasts: 10 * time.Second,
		},
		"ThatChangedHandsAndBackWhileReadingAreNotRepaired": {
			renew: func(_ context.Context, passed time.Duration) ([]fleet.SweepLease, error) {
				return allShards(1 + int64(passed/(2*time.Second))), nil
			},
			reading: 3 * time.Second, lasts: time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				temporal := &workflows{}
				store := &leasedStore{checks: newChecks(fleet.SweepShards), renew: test.renew, reading: test.reading, began: time.Now()}
				sweepFor(t, test.lasts, store, temporal)
				calls := temporal.of("apply", store.checks[3])
				if test.last == 0 {
					if len(calls) != 0 {
						t.Errorf("%d repairs, the first after %v", len(calls), calls[0].Sub(store.began))
					}
					return
				}
				if len(calls) == 0 {
					t.Fatal("no repair")
				}
				first, last := calls[0].Sub(store.began), calls[len(calls)-1].Sub(store.began)
				if first > test.first || last > test.last || last < test.last-2*time.Second {
					t.Errorf("repairs from %v to %v, want %v to %v", first, last, test.first, test.last)
				}
			})
		})
	}
}

// sharingStore has one share for every time.
type sharingStore struct {
	leasedStore

	size   func(passed time.Duration) int
	unused [][]fleet.SweepLease // of the renewals
	gone   map[int]bool         // shards that the process has named as unused
}

func (s *sharingStore) RenewSweep(_ context.Context, _ string, unused []fleet.SweepLease, _ time.Duration) (fleet.SweepShare, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := time.Since(s.began)
	s.unused = append(s.unused, unused)
	if passed >= 10*time.Second && passed < 12*time.Second {
		return fleet.SweepShare{}, errAway
	}
	for _, lease := range unused {
		s.gone[lease.Shard] = true
	}
	leases := slices.DeleteFunc(allShards(1), func(l fleet.SweepLease) bool { return s.gone[l.Shard] })
	return fleet.SweepShare{Leases: leases, Size: s.size(passed)}, nil
}

// TestShardsBeyondTheShareAreLeftFirst proves that a process stops the work of what exceeds
// its share before it says so, and says so until it has an answer.
func TestShardsBeyondTheShareAreLeftFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		temporal := &workflows{}
		store := &sharingStore{leasedStore: leasedStore{checks: newChecks(fleet.SweepShards), began: time.Now()}, gone: make(map[int]bool)}
		store.size = func(passed time.Duration) int {
			if passed < 9500*time.Millisecond {
				return fleet.SweepShards + 1
			}
			return 9
		}
		sweepFor(t, 20*time.Second, store, temporal)
		for shard, check := range store.checks {
			calls := temporal.of("apply", check)
			if len(calls) == 0 {
				t.Fatalf("shard %d is not swept", shard)
			}
			last := calls[len(calls)-1].Sub(store.began)
			if kept := shard < 8; kept && last < 18*time.Second || !kept && last > 9600*time.Millisecond {
				t.Errorf("shard %d is swept until %v", shard, last)
			}
		}
		said := 0
		for i, unused := range store.unused {
			if len(unused) == 0 {
				continue
			}
			if said++; len(unused) != fleet.SweepShards+1-9 || time.Duration(i)*fleet.SweepLeaseRenewal < 9500*time.Millisecond {
				t.Errorf("renewal %d names %v as unused", i, unused)
			}
		}
		if said != 5 { // four without an answer
			t.Errorf("%d renewals name what is unused, want 5", said)
		}
	})
}

// TestStoppedSweepReleasesItsShards proves that another process need not wait.
func TestStoppedSweepReleasesItsShards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &releasingStore{}
		sweepFor(t, time.Second, store, &workflows{})
		if store.released != "test" {
			t.Errorf("released by %q", store.released)
		}
		renewals := store.renewals
		time.Sleep(time.Minute)
		if store.renewals != renewals {
			t.Error("renewed after the release")
		}
	})
}

type releasingStore struct {
	emptyStore

	renewals int
	released string
}

func (s *releasingStore) RenewSweep(
	ctx context.Context,
	process string,
	unused []fleet.SweepLease,
	length time.Duration,
) (fleet.SweepShare, error) {
	s.renewals++
	return s.emptyStore.RenewSweep(ctx, process, unused, length)
}

func (s *releasingStore) ReleaseSweep(_ context.Context, process string) error {
	s.released = process
	return nil
}
