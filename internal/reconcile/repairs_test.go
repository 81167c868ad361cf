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

// brokenStore has a row of each kind for every check, until it is repaired.
type brokenStore struct {
	emptyStore

	checks []uuid.UUID
	only   string // the kind of rows that there are; empty: all

	mu   sync.Mutex
	done map[string]bool // by kind and check
}

func (s *brokenStore) mark(kind string, check uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = make(map[string]bool)
	}
	s.done[kind+check.String()] = true
	return nil
}

// rowsOf returns a row for each check that is not marked.
func rowsOf[R any](s *brokenStore, kind string, limit int, row func(uuid.UUID) R) ([]R, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []R
	for _, check := range s.checks {
		if !s.done[kind+check.String()] && len(rows) < limit && (s.only == "" || s.only == kind) {
			rows = append(rows, row(check))
		}
	}
	return rows, nil
}

func (s *brokenStore) Lagging(_ context.Context, _ []int, limit int) ([]vigil.Loop, error) {
	return rowsOf(s, "loop", limit, func(check uuid.UUID) vigil.Loop {
		return vigil.Loop{CheckID: check, Region: region, Desired: 2, Applied: 1}
	})
}

func (s *brokenStore) Tombstones(_ context.Context, _ []int, limit int) ([]vigil.Tombstone, error) {
	return rowsOf(s, "tombstone", limit, func(check uuid.UUID) vigil.Tombstone {
		return vigil.Tombstone{CheckID: check, Region: region, CreatedAt: time.Now()}
	})
}

func (s *brokenStore) PurgeLoop(_ context.Context, stone vigil.Tombstone) (bool, error) {
	return true, s.mark("tombstone", stone.CheckID)
}

func (s *brokenStore) StalledIncidents(_ context.Context, _ time.Time, _ []int, limit int) ([]vigil.Incident, error) {
	return rowsOf(s, "incident", limit, func(check uuid.UUID) vigil.Incident { return vigil.Incident{ID: check, CheckID: check} })
}

func (s *brokenStore) MarkIncidentSwept(_ context.Context, _ fleet.SweepLease, id uuid.UUID, _ time.Time) error {
	return s.mark("incident", id)
}

func (s *brokenStore) StalledDeliveries(_ context.Context, _ time.Time, _ []int, limit int) ([]vigil.PendingDelivery, error) {
	return rowsOf(s, "delivery", limit, func(check uuid.UUID) vigil.PendingDelivery {
		return vigil.PendingDelivery{IncidentID: check, CheckID: check}
	})
}

func (s *brokenStore) MarkDeliverySwept(_ context.Context, _ fleet.SweepLease, delivery vigil.PendingDelivery, _ time.Time) error {
	return s.mark("delivery", delivery.CheckID)
}

func (s *brokenStore) UnhandledVotes(_ context.Context, _ time.Time, _ []int, limit int) ([]vigil.UnhandledVote, error) {
	return rowsOf(s, "vote", limit, func(check uuid.UUID) vigil.UnhandledVote { return vigil.UnhandledVote{CheckID: check} })
}

func (s *brokenStore) MarkVoteSwept(_ context.Context, _ fleet.SweepLease, vote vigil.UnhandledVote, _ time.Time) error {
	return s.mark("vote", vote.CheckID)
}

// TestRowThatFailsDelaysNoOther proves that one check whose every repair fails, or gets
// no answer, is passed over by all passes, and tried again less and less often.
func TestRowThatFailsDelaysNoOther(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fail  func(ctx context.Context) error
		tries int // of the bad loop in ten minutes, at most
	}{
		"Refused": {func(context.Context) error { return errors.New("refused") }, 12},
		"WithoutAnAnswer": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				checks := newChecks(150)
				bad := checks[0]
				temporal := &workflows{fail: func(ctx context.Context, _ string, check uuid.UUID) error {
					if check == bad {
						return test.fail(ctx)
					}
					return nil
				}}
				store := &brokenStore{checks: checks}
				began := time.Now()
				sweepFor(t, 10*time.Minute, store, temporal)
				for _, what := range []string{"apply", "stop", "revive", "send"} {
					for _, check := range checks {
						calls := temporal.of(what, check)
						if len(calls) == 0 || check != bad && calls[0].Sub(began) > 8*time.Second {
							t.Fatalf("%s %s: %v after the start at %v", what, check, calls, began)
						}
					}
				}
				if calls := temporal.of("apply", bad); len(calls) < 5 || len(calls) > test.tries {
					t.Errorf("the bad loop was tried %d times in ten minutes, want 5 to %d", len(calls), test.tries)
				}
			})
		})
	}
}

// TestServerThatIsAway proves that a pass ends when no row gets an answer, and that all
// rows are repaired soon after the server is back.
func TestServerThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, store := time.Now(), &brokenStore{checks: newChecks(1000), only: "loop"}
		back := began.Add(time.Minute)
		temporal := &workflows{fail: func(ctx context.Context, _ string, check uuid.UUID) error {
			if time.Now().After(back) {
				return store.mark("loop", check)
			}
			<-ctx.Done()
			return errAway
		}}
		sweepFor(t, 90*time.Second, store, temporal)
		early := 0
		for _, check := range store.checks {
			calls := temporal.of("apply", check)
			if len(calls) == 0 {
				t.Fatal("a loop was not repaired")
			}
			if last := calls[len(calls)-1]; last.Before(back) || last.Sub(back) > 15*time.Second {
				t.Fatalf("the last repair was %v after the server was back", last.Sub(back))
			}
			for _, call := range calls {
				if call.Before(back) {
					early++
				}
			}
		}
		if early > 200 {
			t.Errorf("%d calls in a minute without an answer", early)
		}
	})
}

// TestFailedReadStopsNoOtherPass proves that a pass whose read fails, or hangs, leaves
// the others and the leases alone.
func TestFailedReadStopsNoOtherPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		temporal := &workflows{}
		store := &unreadableStore{brokenStore: brokenStore{checks: newChecks(10)}}
		sweepFor(t, 2*time.Minute, store, temporal)
		for _, check := range store.checks {
			for _, what := range []string{"apply", "stop", "send"} {
				if len(temporal.of(what, check)) == 0 {
					t.Errorf("no %s of %s", what, check)
				}
			}
		}
		if store.hung < 3 {
			t.Errorf("the read that hangs was tried %d times in two minutes", store.hung)
		}
	})
}

type unreadableStore struct {
	brokenStore

	hung int
}

func (*unreadableStore) StalledIncidents(context.Context, time.Time, []int, int) ([]vigil.Incident, error) {
	return nil, errors.New("unreadable")
}

func (s *unreadableStore) UnhandledVotes(ctx context.Context, _ time.Time, _ []int, _ int) ([]vigil.UnhandledVote, error) {
	s.hung++
	<-ctx.Done()
	return nil, ctx.Err()
}
