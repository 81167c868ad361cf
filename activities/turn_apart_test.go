// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// apart is a fixture whose turns run apart from their activity.
type apart struct {
	*leased

	mu       sync.Mutex
	ended    chan completion
	repeated []uuid.UUID // loops that were made to begin another turn
	calls    int         // of CompleteTurn
	away     int         // so many calls fail first
	hangs    bool        // and do that when their time is over
	tries    []time.Time // when calls began
	unknown  bool        // the workflow waits for another turn
	moved    bool        // the loop belongs to another worker
	lost     bool        // turns may be lost: the loops belong to this worker
	ownerErr error
}

// completion is a turn that Temporal was given the end of.
type completion struct {
	turn   vigil.OpenTurn
	result *activities.TurnResult
	err    error
	at     time.Time
}

func newApart(t *testing.T, options ...func(*activities.WatcherOptions)) *apart {
	t.Helper()
	a := &apart{ended: make(chan completion, 10)}
	lease := activities.NewLeaseHolder(time.Now)
	options = append(options, func(o *activities.WatcherOptions) {
		o.Lease, o.TurnRate, o.QuietWindow, o.Completer, o.Owners = lease, tiny, time.Hour, a, a
	})
	a.leased = &leased{newWatchFixture(t, options...), lease}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		cancel()
		a.watcher.Drain(ctx)
	})
	return a
}

func (a *apart) CompleteTurn(ctx context.Context, turn vigil.OpenTurn, result *activities.TurnResult, failure error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tries = append(a.tries, time.Now())
	if a.calls++; a.calls <= a.away {
		if a.hangs {
			a.mu.Unlock()
			<-ctx.Done()
			a.mu.Lock()
		}
		return errors.New("Temporal is away")
	}
	if a.unknown {
		return vigil.NotFound("turn")
	}
	a.ended <- completion{turn, result, failure, time.Now()}
	return nil
}

func (a *apart) RepeatTurn(_ context.Context, turn vigil.OpenTurn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.repeated = append(a.repeated, turn.CheckID)
	return nil
}

func (a *apart) OwnsLoop(context.Context, uuid.UUID, fleet.Lease) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.moved && a.ownerErr == nil, a.ownerErr
}

func (a *apart) OwnedLoops(_ context.Context, _ fleet.Lease, checks []uuid.UUID) ([]uuid.UUID, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.lost || a.ownerErr != nil {
		return nil, a.ownerErr
	}
	return checks, nil
}

// start starts a turn; its end comes to ended.
func (a *apart) start(turn activities.Turn, prepare func(*testsuite.TestActivityEnvironment)) {
	a.Helper()
	if _, err := a.watchWith(turn, prepare); !errors.Is(err, activity.ErrResultPending) {
		a.Fatalf("the activity ended with %v, want that its result is pending", err)
	}
}

// end runs a turn to its end, and returns the next one.
func (a *apart) end(def vigil.Definition, turn activities.Turn, prepare func(*testsuite.TestActivityEnvironment)) activities.Turn {
	a.Helper()
	a.start(turn, prepare)
	next := turnOf(def, (<-a.ended).result.State)
	next.By = "test"
	return next
}

// move gives the loops to another worker.
func (a *apart) move() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.moved, a.lost = true, false
}

// failTwice makes the fourth and the fifth probe fail.
func (a *apart) failTwice() {
	a.observe = func(context.Context) vigil.Observation {
		return vigil.Observation{Success: len(a.runs) != 4 && len(a.runs) != 5}
	}
}

// begun is a check whose first turn has ended, and its next turn of four slots.
func (a *apart) begun() (vigil.Definition, activities.Turn) {
	a.Helper()
	a.renew(1)
	def := a.define(nil)
	a.start(turnOf(def, vigil.State{}), plain)
	first := <-a.ended
	if first.err != nil || first.turn.CheckID != def.Check.ID {
		a.Fatalf("the first turn ended with %+v", first)
	}
	turn := turnOf(def, first.result.State)
	turn.Span, turn.By = 4, "test"
	return def, turn
}

// opened returns the open turn of the newest result.
func (a *apart) opened() vigil.OpenTurn {
	a.Helper()
	a.watchFixture.mu.Lock()
	defer a.watchFixture.mu.Unlock()
	row := a.written[len(a.written)-1]
	if row.Turn == nil {
		a.Fatalf("the turn of slot %v does not go on", row.Result.Slot)
	}
	return vigil.OpenTurn{CheckID: row.Result.CheckID, Region: region, Revision: 1, Slots: row.TurnSlots, TurnActivity: *row.Turn}
}

// goOnInterval lets some slots fit into the 10 minutes that the test environment gives a turn.
const goOnInterval = 10 * time.Second

// goOn runs turns of a new check until one has stored a result and goes on.
func (a *apart) goOn(def vigil.Definition) { a.goOnWith(def, plain) }

// goOnWith is goOn with a test environment that is prepared.
func (a *apart) goOnWith(def vigil.Definition, prepare func(*testsuite.TestActivityEnvironment)) {
	a.Helper()
	a.renew(1)
	a.start(turnOf(def, vigil.State{}), plain)
	turn := turnOf(def, (<-a.ended).result.State)
	for turn.Span, turn.By = 12, "test"; ; {
		a.renew(1)
		before := len(a.rows)
		a.start(turn, prepare)
		a.hold(1, time.Until(scheduleOf(def).Next(turn.State.Slot))+time.Second)
		if a.written[before].Turn != nil {
			return
		}
		turn.State = (<-a.ended).result.State // it ended at the phase of its loop
	}
}

// gone returns a turn that has stored a result and goes on, and whose worker has lost its lease
// since then. It also returns how many probes it has made.
func gone(t *testing.T) (a *apart, probes int) {
	t.Helper()
	a = newApart(t)
	a.goOn(a.define(func(def *vigil.Definition) { def.Check.Interval = goOnInterval }))
	time.Sleep(fleet.LeaseTimeout + time.Second) // sleep: in a bubble only
	return a, a.probes()
}

// TestTurnApart tests turns that run apart from their activity.
func TestTurnApart(t *testing.T) {
	t.Parallel()

	t.Run("CompletesItsActivity", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.keep(1)
			_, turn := a.begun()
			a.start(turn, plain)
			end := <-a.ended
			if end.err != nil || end.result.End != vigil.TurnCovered || end.turn.ActivityID == "" || !end.turn.Ends.After(end.at) {
				t.Errorf("the turn ended with %+v", end)
			}
			rows := a.written[1:]
			if len(rows) == 0 || rows[0].Owned {
				t.Fatalf("rows %+v, want the first one not owned", rows)
			}
			for i, row := range rows {
				if last := i == len(rows)-1; (row.Turn == nil) != last || row.Owned != (i > 0) {
					t.Errorf("row %d of %d has turn %v, owned %v", i, len(rows), row.Turn, row.Owned)
				}
			}
		})
	})

	t.Run("IsCompletedWhenTemporalIsBack", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.keep(1)
			_, turn := a.begun()
			a.away = a.calls + 3
			var failed time.Time
			a.set(func() { a.observe = func(context.Context) vigil.Observation { failed = time.Now(); panic("a bug") } })
			a.start(turn, plain)
			end := <-a.ended
			if took := end.at.Sub(failed); end.err == nil || took < 3*time.Second || took > 4*time.Second {
				t.Errorf("the turn, which cannot go on, ended with %+v, %v after its failure", end, took)
			}
			if n := a.log.count("turn not completed"); n != 3 {
				t.Errorf("%d lines in the log", n)
			}
		})
	})

	t.Run("FailsWhenItPanics", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.keep(1)
			_, turn := a.begun()
			a.set(func() { a.observe = func(context.Context) vigil.Observation { panic("a bug") } })
			a.start(turn, plain)
			if end := <-a.ended; end.result != nil || end.err == nil || !strings.Contains(end.err.Error(), "a bug") {
				t.Errorf("the turn ended with %+v", end)
			}
			if n := a.log.count("turn panicked"); n != 1 {
				t.Errorf("%d lines in the log", n)
			}
		})
	})

	t.Run("IsLeftOpenWhenAnotherWorkerHasAdoptedIt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, probes := gone(t)
			a.move()
			a.keep(2)
			time.Sleep(10 * time.Minute)
			if len(a.ended) > 0 || a.probes() != probes {
				t.Errorf("%d completions, %d probes", len(a.ended), a.probes()-probes)
			}
		})
	})

	t.Run("IsHandedOverWhenNoWorkerHasAdoptedIt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, probes := gone(t)
			a.mu.Lock()
			a.ownerErr = errors.New("Postgres is away") // for a while
			a.mu.Unlock()
			time.AfterFunc(10*time.Second, func() {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.ownerErr = nil
			})
			a.keep(2)
			if end := <-a.ended; end.err != nil || end.result.End != vigil.TurnHandOver || a.probes() != probes {
				t.Errorf("the turn ended with %+v after %d probes", end, a.probes()-probes)
			}
		})
	})

	t.Run("IsHandedOverWhenNoRowNamesIt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.renew(1)
			_, turn := a.begun()
			a.start(turn, plain)
			time.Sleep(10 * time.Second)
			a.move()
			a.keep(2)
			if end := <-a.ended; end.err != nil || end.result.End != vigil.TurnHandOver || a.probes() != 1 {
				t.Errorf("the turn ended with %+v after %d probes", end, a.probes())
			}
		})
	})

	t.Run("EndsWithItsWorker", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.keep(1)
			_, turn := a.begun()
			stop := make(chan struct{})
			a.start(turn, func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
			close(stop)
			a.watcher.Drain(t.Context())
			if end := <-a.ended; end.err != nil || end.result.End != vigil.TurnHandOver {
				t.Errorf("the turn ended with %+v", end)
			}
			a.start(turn, plain)
			if time.Sleep(10 * time.Minute); len(a.ended) > 0 {
				t.Error("a turn has run after the others were drained")
			}
		})
	})

	t.Run("IsLeftOpenForAnotherWorkerWhenARowNamesIt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, stop := newApart(t), make(chan struct{})
			def := a.define(func(def *vigil.Definition) { def.Check.Interval = goOnInterval })
			a.goOnWith(def, func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
			a.mu.Lock()
			calls := a.calls
			a.mu.Unlock()
			probes := a.probes()
			close(stop)
			a.watcher.Rest(t.Context())
			a.lease.Release()
			a.renew(1) // on its way when the lease was given up
			if _, ok := a.lease.Holds(region); ok {
				t.Error("the lease holds after it was given up")
			}
			time.Sleep(10 * time.Minute)
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.calls != calls || a.probes() != probes {
				t.Errorf("the turn was completed %d times after %d more probes", a.calls-calls, a.probes()-probes)
			}
		})
	})

	t.Run("IsCancelledWhenItsWorkerMustEnd", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.keep(1)
			_, turn := a.begun()
			a.start(turn, plain)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			a.watcher.Drain(ctx)
			if len(a.ended) > 0 {
				t.Errorf("the turn ended with %+v, want it left open", <-a.ended)
			}
		})
	})
}
