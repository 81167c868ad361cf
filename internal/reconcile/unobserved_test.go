// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
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
