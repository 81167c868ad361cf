// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// slowStarts are the starts of delivery workflows, each of which takes some time; how many are under way
// at a time is counted.
type slowStarts struct {
	takes time.Duration // zero: until its context ends
	err   error

	mu             sync.Mutex
	now, most, all int
}

func (s *slowStarts) Send(ctx context.Context, _ vigil.PendingDelivery) error {
	s.mu.Lock()
	s.all++
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}()
	if s.takes == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(s.takes) // sleep: a slow Temporal
	return s.err
}

// TestIncidentWithManyChannels tests that a change of an incident that is stored has happened, however
// long the starts of its deliveries take, and also where they fail.
func TestIncidentWithManyChannels(t *testing.T) {
	t.Parallel()
	const channels = 120
	for name, c := range map[string]struct {
		starts *slowStarts
		most   time.Duration
	}{
		"SlowStarts":       {&slowStarts{takes: 100 * time.Millisecond}, 1500 * time.Millisecond},
		"StartsThatFail":   {&slowStarts{takes: time.Millisecond, err: errors.New("away")}, 15 * time.Millisecond},
		"StartsWithoutEnd": {&slowStarts{}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				want := vigil.IncidentHead{ID: uuid.New(), Status: vigil.IncidentActive}
				out := vigil.IncidentOutcome{Incident: want, PendingDeliveries: make([]vigil.PendingDelivery, channels)}
				acts := activities.NewIncidents(activities.IncidentsOptions{
					Store: incidentRows{out: out}, Deliveries: c.starts, Log: slog.New(slog.DiscardHandler),
				})
				var suite testsuite.WorkflowTestSuite
				env := suite.NewTestActivityEnvironment()
				env.RegisterActivity(acts.Open)
				began := time.Now()
				value, err := env.ExecuteActivity(acts.Open, vigil.OpenRequest{})
				if err != nil {
					t.Fatal(err)
				}
				var head vigil.IncidentHead
				if err := value.Get(&head); err != nil || head.ID != want.ID {
					t.Errorf("the incident is %+v (%v)", head, err)
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("it took %v, want at most %v", took, c.most)
				}
				if c.starts.all != channels || c.starts.most > 8 {
					t.Errorf("%d starts, %d at a time, want %d and at most 8", c.starts.all, c.starts.most, channels)
				}
			})
		})
	}
}
