// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/reconcile"
)

// lateLoops are loops that are late by more than the given grace; one of them has lost its
// workflow or its turn.
type lateLoops struct {
	*workflows
	*slowStore

	mu      sync.Mutex
	late    []vigil.Loop
	begin   bool // the loops are not late, and have not begun
	lost    uuid.UUID
	worker  string    // that Temporal gave the turn of the lost loop to; empty: it has no workflow
	adopted uuid.UUID // its turn was at that worker, and another one has adopted it
	looked  map[uuid.UUID]int
	nudged  []uuid.UUID
}

func (l *lateLoops) Overdue(_ context.Context, _ time.Time, grace time.Duration, _ []string, _ []int, _ int) ([]vigil.Loop, error) {
	if grace >= time.Minute || l.begin {
		return nil, nil
	}
	return l.late, nil
}

func (l *lateLoops) NotBegun(context.Context, time.Duration, []string, []int, int) ([]vigil.Loop, error) {
	return slices.Clone(l.late), nil // also where they are late
}

func (l *lateLoops) Holder(_ context.Context, loop vigil.Loop) (vigil.TurnHolder, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked[loop.CheckID]++
	switch loop.CheckID {
	case l.lost:
		return vigil.TurnHolder{Running: l.worker != "", Worker: l.worker, ActivityID: "8"}, nil
	case l.adopted:
		return vigil.TurnHolder{Running: true, Worker: "dead", ActivityID: "7"}, nil
	default:
		return vigil.TurnHolder{Running: true, Worker: "alive", ActivityID: "7"}, nil
	}
}

func (*lateLoops) LiveLeases(context.Context, time.Duration) ([]fleet.Lease, error) {
	return []fleet.Lease{
		{Worker: "alive", Region: region}, {Worker: "alive", Region: vigil.LocationsRegion}, {Worker: "dead", Region: "ap-northeast-nrt"},
	}, nil
}

func (l *lateLoops) MarkNudged(_ context.Context, _ fleet.SweepLease, check uuid.UUID, _ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nudged = append(l.nudged, check)
	l.late = l.late[1:] // a result follows
	return nil
}

func (*lateLoops) SilentLeases(context.Context, time.Duration) ([]fleet.Lease, error) {
	return nil, nil
}

// TestLostLoopsAreStartedSoon proves that a loop without a workflow, or whose turn is at a worker
// that is gone, is nudged as soon as it is suspect, and that the workflows of slow loops are
// looked at rarely.
func TestLostLoopsAreStartedSoon(t *testing.T) {
	t.Parallel()
	for name, worker := range map[string]string{"NoWorkflow": "", "TurnOfADeadWorker": "dead", "TurnThatNeverBegan": "alive"} {
		for _, place := range []string{region, office} {
			t.Run(name+"/"+place, func(t *testing.T) {
				t.Parallel()
				testLostLoops(t, worker, place, false)
				testLostLoops(t, worker, place, true)
			})
		}
	}
}

func testLostLoops(t *testing.T, worker, place string, begin bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &lateLoops{workflows: &workflows{}, slowStore: &slowStore{}, looked: make(map[uuid.UUID]int), worker: worker, begin: begin}
		for range 15 {
			l.late = append(l.late, vigil.Loop{CheckID: uuid.New(), Region: place, Worker: "alive", Turn: vigil.TurnActivity{ActivityID: "7"}})
		}
		l.lost, l.adopted = l.late[0].CheckID, l.late[2].CheckID
		slow := l.late[1].CheckID
		sweep := reconcile.New(reconcile.Options{
			Process: "test", Away: isAway, Loops: l, Store: l, Housekeeping: l, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		sweep.Start(t.Context())
		time.Sleep(5 * time.Minute)
		if err := sweep.Stop(); err != nil {
			t.Fatal(err)
		}
		if len(l.nudged) != 1 || l.nudged[0] != l.lost {
			t.Errorf("nudged %v, want %v alone", l.nudged, l.lost)
		}
		// At 0, 20, 60, 140 and 300 seconds.
		if n := l.looked[slow]; n < 2 || n > 5 {
			t.Errorf("the workflow of a slow loop was looked at %d times in five minutes", n)
		}
	})
}
