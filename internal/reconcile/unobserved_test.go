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

// observedAgain has a check that is probed again, and many channels that hear of it.
type observedAgain struct {
	emptyStore
	check uuid.UUID
	ended bool
}

func (s *observedAgain) ObservedAgain(context.Context, time.Time, []int, int) ([]vigil.UnobservedCheck, error) {
	if s.ended {
		return nil, nil
	}
	return []vigil.UnobservedCheck{{CheckID: s.check}}, nil
}

func (s *observedAgain) EndUnobserved(context.Context, fleet.SweepLease, uuid.UUID, string) ([]vigil.PendingDelivery, error) {
	s.ended = true
	pending := make([]vigil.PendingDelivery, 120)
	for i := range pending {
		pending[i].CheckID = s.check
	}
	return pending, nil
}

// TestObservedAgainReachesManyChannels tests that the workflows of all deliveries are started in the time of
// one repair, although each takes a while.
func TestObservedAgainReachesManyChannels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		temporal := &workflows{fail: func(ctx context.Context, _ string, _ uuid.UUID) error {
			if ctx.Err() == nil {
				time.Sleep(200 * time.Millisecond) // sleep: a slow Temporal
			}
			return ctx.Err()
		}}
		store := &observedAgain{check: newChecks(1)[0]}
		sweepFor(t, 15*time.Second, store, temporal)
		sent := temporal.of("send", store.check)
		if len(sent) != 120 {
			t.Fatalf("%d deliveries were started, want 120", len(sent))
		}
		if took := sent[119].Sub(sent[0]); took > 3*time.Second {
			t.Errorf("the starts took %v", took)
		}
	})
}

// awayStore gives no lease of a shard for a time, and notes since when what is silent counts, by what asks.
type awayStore struct {
	emptyStore
	from, until time.Time

	mu    sync.Mutex
	asked map[string][2]time.Time // the first question after the time: when, and since when
}

func (s *awayStore) RenewSweep(
	ctx context.Context, process string, unused []fleet.SweepLease, length time.Duration,
) (fleet.SweepShare, error) {
	if now := time.Now(); now.After(s.from) && now.Before(s.until) {
		return fleet.SweepShare{}, errors.New("away")
	}
	return s.emptyStore.RenewSweep(ctx, process, unused, length)
}

func (s *awayStore) note(what string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, noted := s.asked[what]; !noted && time.Now().After(s.until) {
		s.asked[what] = [2]time.Time{time.Now(), since}
	}
}

func (s *awayStore) Unobserved(_ context.Context, _, since time.Time, _ []int, _ int) ([]vigil.UnobservedCheck, error) {
	s.note("checks", since)
	return nil, nil
}

func (s *awayStore) Silences(_ context.Context, _, since time.Time, _ []int, _ int) ([]vigil.RegionSilence, error) {
	s.note("regions", since)
	return nil, nil
}

func (s *awayStore) PublishSilentLocations(_ context.Context, _ fleet.SweepLease, since time.Time, _ int) (int, error) {
	s.note("locations", since)
	return 0, nil
}

// TestSilenceWhileNothingWasRead tests that a time without a lease of any shard, in which no pass begins and none fails, counts
// as one in which the platform was down: what was silent then gets time to report.
func TestSilenceWhileNothingWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &awayStore{asked: make(map[string][2]time.Time)}
		store.from = time.Now().Add(time.Minute)
		store.until = store.from.Add(time.Minute)
		sweepFor(t, 3*time.Minute, store, &workflows{})
		for _, what := range []string{"checks", "regions", "locations"} {
			if asked, ok := store.asked[what]; !ok || asked[1].Before(store.until) {
				t.Errorf("silent %s are looked for at %v, and count since %v; the time ended at %v", what, asked[0], asked[1], store.until)
			}
		}
	})
}
