package activities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"vigil"
	"vigil/activities"
)

// apart is a fixture whose turns run apart from their activity.
type apart struct {
	*leased

	mu       sync.Mutex
	ended    chan completion
	repeated []uuid.UUID // loops that were made to begin another turn
	calls    int         // of CompleteTurn
	away     int         // so many calls fail first
	unknown  bool        // the workflow waits for another turn
	moved    bool        // the loop belongs to another worker
	ownerErr error
}

// completion is a turn that Temporal was given the end of.
type completion struct {
	turn   vigil.OpenTurn
	result *activities.TurnResult
	err    error
	at     time.Time
}

func newApart(t *testing.T) *apart {
	t.Helper()
	a := &apart{ended: make(chan completion, 10)}
	lease := activities.NewLeaseHolder(time.Now)
	a.leased = &leased{newWatchFixture(t, func(o *activities.WatcherOptions) {
		o.Lease, o.TurnRate, o.QuietWindow, o.Completer, o.Owners = lease, tiny, time.Hour, a, a
	}), lease}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		cancel()
		a.watcher.Drain(ctx)
	})
	return a
}

func (a *apart) CompleteTurn(_ context.Context, turn vigil.OpenTurn, result *activities.TurnResult, failure error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls++; a.calls <= a.away {
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

func (a *apart) OwnsLoop(context.Context, uuid.UUID, vigil.Lease) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.moved && a.ownerErr == nil, a.ownerErr
}

// start starts a turn; its end comes to ended.
func (a *apart) start(turn activities.Turn, prepare func(*testsuite.TestActivityEnvironment)) {
	a.Helper()
	if _, err := a.watchWith(turn, prepare); !errors.Is(err, activity.ErrResultPending) {
		a.Fatalf("the activity ended with %v, want that its result is pending", err)
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
			if end.err != nil || end.result.End != activities.Covered || end.turn.ActivityID == "" || !end.turn.Ends.After(end.at) {
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
			turn.Span = 1
			a.away = a.calls + 3
			a.start(turn, plain)
			end := <-a.ended
			slot := a.rows[len(a.rows)-1].Time
			if took := end.at.Sub(slot); end.err != nil || took < 3*time.Second || took > 4*time.Second {
				t.Errorf("the turn ended with %+v, %v after its slot", end, took)
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
			for _, unknown := range []error{nil, errors.New("Postgres is away")} {
				a := newApart(t)
				a.renew(1)
				_, turn := a.begun()
				a.start(turn, plain)
				time.Sleep(10 * time.Second)
				a.moved, a.ownerErr = true, unknown
				a.renew(2)
				a.keep(2)
				time.Sleep(10 * time.Minute)
				if len(a.ended) > 0 || a.probes() != 1 {
					t.Errorf("%d completions, %d probes", len(a.ended), a.probes())
				}
			}
		})
	})

	t.Run("IsHandedOverWhenNoWorkerHasAdoptedIt", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := newApart(t)
			a.renew(1)
			_, turn := a.begun()
			a.start(turn, plain)
			time.Sleep(10 * time.Second)
			a.keep(2)
			if end := <-a.ended; end.err != nil || end.result.End != activities.HandOver || a.probes() != 1 {
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
			if end := <-a.ended; end.err != nil || end.result.End != activities.HandOver {
				t.Errorf("the turn ended with %+v", end)
			}
			a.start(turn, plain)
			if time.Sleep(10 * time.Minute); len(a.ended) > 0 {
				t.Error("a turn has run after the others were drained")
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

// TestAdopt tests turns that go on at another worker than the one that began them.
func TestAdopt(t *testing.T) {
	t.Parallel()

	// lost starts a turn of four slots, and ends its worker after the first of them.
	lost := func(t *testing.T, change func(*vigil.Definition)) (*apart, vigil.Definition, vigil.OpenTurn) {
		t.Helper()
		a := newApart(t)
		a.renew(1)
		a.keep(1)
		def := a.define(func(def *vigil.Definition) {
			def.Check.Interval = 10 * time.Second // the test environment gives an activity 10 minutes
			if change != nil {
				change(def)
			}
		})
		a.start(turnOf(def, vigil.State{}), plain)
		turn := turnOf(def, (<-a.ended).result.State)
		turn.Span = 12
		for before := len(a.rows); ; {
			a.start(turn, plain)
			time.Sleep(time.Until(scheduleOf(def).Next(turn.State.Slot)) + time.Second)
			if a.written[before].Turn != nil {
				break
			}
			turn.State = (<-a.ended).result.State // it ended at the phase of its loop
			before++
		}
		open := a.opened()
		next := newApart(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a.watcher.Drain(ctx)
		next.defs, next.rows = a.defs, a.rows
		next.renew(7)
		next.keep(7)
		return next, def, open
	}

	t.Run("GoesOnFromTheStoredResults", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			before := len(a.rows)
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			end := <-a.ended
			last := a.rows[len(a.rows)-1].Slot
			if end.err != nil || end.turn.ActivityID != open.ActivityID || !end.result.State.Slot.Equal(last) || len(a.rows) == before {
				t.Errorf("the turn ended with %+v after %d more results, the last of %v", end, len(a.rows)-before, last)
			}
			for i, row := range a.rows[2:] { // the first result of a check is not in step with the others
				if step := row.Slot.Sub(a.rows[i+1].Slot); step != def.Check.Interval {
					t.Errorf("result %d is %v after the one before it", i+2, step)
				}
			}
			for _, row := range a.written {
				if !row.Owned {
					t.Error("a result of an adopted turn is not owned")
				}
			}
		})
	})

	t.Run("BeginsAnotherTurnWhenItWasNotTheOpenOne", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			a.unknown = true
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			time.Sleep(10 * time.Minute)
			if a.mu.Lock(); !slices.Equal(a.repeated, []uuid.UUID{def.Check.ID}) {
				t.Errorf("turns of %v were repeated", a.repeated)
			}
			a.mu.Unlock()
		})
	})

	t.Run("YieldsToANewerTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			synctest.Wait()
			a.unknown = true // the workflow waits for the newer one
			newer := turnOf(def, vigil.State{})
			newer.Recover = true
			a.start(newer, plain)
			time.Sleep(10 * time.Minute)
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.calls != 2 || len(a.repeated) > 0 {
				t.Errorf("%d turns ended, and %d were repeated", a.calls, len(a.repeated))
			}
		})
	})

	t.Run("EndsAtOnceWithANewDefinition", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, nil)
			a.revise(def, func(def *vigil.Definition) { def.Check.Interval = time.Hour })
			began := time.Now()
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			end := <-a.ended
			if end.err != nil || end.result.Revision != 2 || end.at.Sub(began) > 2*time.Second || a.probes() > 0 {
				t.Errorf("the turn ended after %v with %+v and %d probes", end.at.Sub(began), end, a.probes())
			}
		})
	})

	t.Run("SaysThatNoRuleFiresAnyMore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, _, open := lost(t, firing(vigil.Condition{FailureThreshold: 1}))
			a.voted, a.votedFires = a.rows[len(a.rows)-1].Slot.Add(-time.Second), true // that of the last result was not reported
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			end := <-a.ended
			if end.err != nil || end.result.End != activities.Changed || !end.result.Restarted || end.result.Voted || a.probes() > 0 {
				t.Errorf("the turn ended with %+v after %d probes", end, a.probes())
			}
		})
	})

	t.Run("SaysThatARuleFires", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a, def, open := lost(t, firing(vigil.Condition{FailureThreshold: 1}))
			failed := a.rows[len(a.rows)-1]
			failed.Slot = scheduleOf(def).Next(failed.Slot)
			failed.Success, failed.Error = false, "down"
			a.rows = append(a.rows, failed) // stored, and its vote was not
			a.watcher.Adopt([]vigil.OpenTurn{open}, 7, nil)
			if end := <-a.ended; end.err != nil || end.result.End != activities.Changed || len(end.result.State.Firing) != 1 {
				t.Errorf("the turn ended with %+v", end)
			}
		})
	})
}
