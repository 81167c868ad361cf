// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
)

// owedStore is a recovery of messages that arrive at once. It keeps what was asked of it.
type owedStore struct {
	mu          sync.Mutex
	left        int
	outstanding []int
}

func (s *owedStore) StepRecovery(_ context.Context, _ uuid.UUID, limit, outstanding int) (channelhealth.RecoveryStep, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outstanding = append(s.outstanding, outstanding)
	n := min(limit, outstanding, s.left)
	s.left -= n
	return channelhealth.RecoveryStep{Done: s.left == 0, Requested: make([]vigil.PendingDelivery, n)}, nil
}

// sentDeliveries counts signals.
type sentDeliveries struct {
	mu sync.Mutex
	n  int
}

func (s *sentDeliveries) Send(context.Context, vigil.PendingDelivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return nil
}

// TestRecoveryLeavesPlacesOfItsChannel holds that a recovery never requests, at any rate, more
// attempts at once than the channel has places for, less two for the messages of new incidents.
func TestRecoveryLeavesPlacesOfItsChannel(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{4, 10, 200, 1000} {
		store, sent := &owedStore{left: 3}, &sentDeliveries{}
		recoveries := activities.NewRecoveries(activities.RecoveriesOptions{
			Store: store, Workflows: sent, Rate: rate, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivity(recoveries)
		value, err := env.ExecuteActivity(recoveries.Recover, uuid.New())
		if err != nil {
			t.Fatal(err)
		}
		var report activities.RecoveryReport
		if err := value.Get(&report); err != nil || !report.Done {
			t.Fatalf("%d a second: %+v (%v)", rate, report, err)
		}
		if sent.n != 3 {
			t.Errorf("%d a second: %d deliveries were signaled, want 3", rate, sent.n)
		}
		for _, n := range store.outstanding {
			if n < 4 || n > 6 {
				t.Fatalf("%d a second: %d may be outstanding, want 4 to 6", rate, n)
			}
		}
	}
}
