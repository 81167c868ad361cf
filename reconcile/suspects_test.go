package reconcile_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/reconcile"
)

// lateLoops are loops that are late by more than the given grace; one of them has lost its
// workflow.
type lateLoops struct {
	*workflows
	*slowStore

	mu     sync.Mutex
	late   []vigil.Loop
	lost   uuid.UUID
	looked map[uuid.UUID]int
	nudged []uuid.UUID
}

func (l *lateLoops) Overdue(_ context.Context, _ time.Time, grace time.Duration, _ []string, _ []int, _ int) ([]vigil.Loop, error) {
	if grace >= time.Minute {
		return nil, nil
	}
	return l.late, nil
}

func (l *lateLoops) Lost(_ context.Context, loop vigil.Loop) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked[loop.CheckID]++
	return loop.CheckID == l.lost, nil
}

func (l *lateLoops) MarkNudged(_ context.Context, _ vigil.SweepLease, check uuid.UUID, _ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nudged = append(l.nudged, check)
	l.late = l.late[1:] // a result follows
	return nil
}

func (*lateLoops) SilentLeases(context.Context, time.Duration) ([]vigil.Lease, error) {
	return nil, nil
}

// TestLostLoopsAreStartedSoon proves that a loop without a workflow is started as soon as
// it is suspect, and that the workflows of slow loops are looked at rarely.
func TestLostLoopsAreStartedSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lateLoops{workflows: &workflows{}, slowStore: &slowStore{}, looked: make(map[uuid.UUID]int)}
		for range 15 {
			l.late = append(l.late, vigil.Loop{CheckID: uuid.New(), Region: "eu-central-fra"})
		}
		l.lost = l.late[0].CheckID
		slow := l.late[1].CheckID
		sweep := reconcile.New(reconcile.Options{
			Process: "test", Away: isAway, Loops: l, Store: l, Housekeeping: l, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		if err := sweep.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if err := sweep.Stop(); err != nil {
			t.Fatal(err)
		}
		if len(l.nudged) != 1 || l.nudged[0] != l.lost {
			t.Errorf("nudged %v, want %v alone", l.nudged, l.lost)
		}
		// At 0, 30, 90 and 210 seconds.
		if n := l.looked[slow]; n < 2 || n > 5 {
			t.Errorf("the workflow of a slow loop was looked at %d times in five minutes", n)
		}
	})
}
