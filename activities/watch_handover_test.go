// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestWatchHandOver tests how a turn ends for another turn or another worker.
func TestWatchHandOver(t *testing.T) {
	t.Parallel()

	t.Run("HandsOverWhileWaitingAndFinishesAProbeInFlight", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			stop := make(chan struct{})
			time.AfterFunc(5*time.Second, func() { close(stop) })
			waiting := w.must(w.watchUntil(turnOf(def, state), stop))
			if waiting.End != vigil.TurnHandOver || len(w.rows) != 1 {
				t.Errorf("end %s with %d rows, want a hand-over with 1", waiting.End, len(w.rows))
			}
			w.observe = takes(3 * time.Second)
			late := make(chan struct{})
			time.AfterFunc(time.Until(scheduleOf(def).Next(state.Slot))+time.Second, func() { close(late) })
			probing := w.must(w.watchUntil(turnOf(def, state), late))
			if probing.End != vigil.TurnCovered || len(w.rows) != 2 {
				t.Errorf("end %s with %d rows: the probe in flight was not stored", probing.End, len(w.rows))
			}
		})
	})

	t.Run("YieldsToANewerTurnAfterStoringAProbeInFlight", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			w.observe = takes(4 * time.Second)
			older := make(chan activities.TurnResult, 1)
			go func() { older <- w.must(w.watch(turnOf(def, vigil.State{}))) }()
			time.Sleep(time.Second)
			newer := turnOf(def, vigil.State{})
			newer.Recover = true
			result := w.must(w.watch(newer))
			if first := <-older; first.End != vigil.TurnChanged {
				t.Errorf("older turn ended %s, want its slot stored", first.End)
			}
			if len(w.rows) != 2 || !result.State.Slot.Equal(w.rows[1].Slot) || w.rows[1].Slot.Equal(w.rows[0].Slot) {
				t.Errorf("rows %+v: want two slots, each once", w.rows)
			}
		})
	})
}

// TestWatchSuperseded tests how turns of one loop follow each other.
func TestWatchSuperseded(t *testing.T) {
	t.Parallel()

	t.Run("FailsAsSupersededWhenANewerTurnTakesOverItsWait", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			turn := w.started(w.define(nil))
			lost := make(chan error, 1)
			go func() {
				_, err := w.watch(turn)
				lost <- err
			}()
			time.Sleep(time.Second)
			began := time.Now()
			w.must(w.watch(turn))
			if err := <-lost; err == nil || !strings.Contains(err.Error(), "a newer turn of this loop took over") {
				t.Errorf("the older turn ended with %v", err)
			}
			if len(w.runs) != 2 || !w.runs[1].After(began) {
				t.Errorf("probes at %v, want one by the newer turn", w.runs)
			}
		})
	})
}

// TestWatchContext tests how a turn ends with its context.
func TestWatchContext(t *testing.T) {
	t.Parallel()

	t.Run("FailsWhenItsContextEnds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for name, observe := range map[string]func(context.Context) vigil.Observation{
				"waiting": nil,
				"probing": func(ctx context.Context) vigil.Observation {
					<-ctx.Done()
					return vigil.Observation{Error: "canceled"}
				},
			} {
				w := newWatchFixture(t)
				turn := w.started(w.define(nil))
				w.observe = observe
				wait := 5 * time.Second
				if observe != nil {
					wait = 2 * time.Minute
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(wait, cancel)
				began := time.Now()
				if result, err := w.watchIn(ctx, turn); err == nil || !strings.Contains(err.Error(), "context canceled") {
					t.Errorf("%s: the turn ended with %+v and %v", name, result, err)
				}
				if len(w.rows) != 1 || time.Since(began) != wait {
					t.Errorf("%s: %d rows after %v, want no more than the first turn's after %v", name, len(w.rows), time.Since(began), wait)
				}
				if n := w.watcher.Probing(); n != 0 {
					t.Errorf("%s: %d probes run", name, n)
				}
			}
		})
	})

	t.Run("FailsAsSupersededWhenItsContextEndsBeforeTheOlderTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			w.observe = takes(time.Minute)
			older := make(chan error, 1)
			go func() {
				_, err := w.watch(turnOf(def, vigil.State{}))
				older <- err
			}()
			time.Sleep(time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := w.watchIn(ctx, turnOf(def, vigil.State{}))
			if err == nil || !strings.Contains(err.Error(), "a newer turn of this loop took over") {
				t.Errorf("two turns of a loop ran at once, or the second ended with %v", err)
			}
			if err := <-older; err != nil || len(w.rows) != 1 {
				t.Errorf("the older turn ended with %v and %d rows", err, len(w.rows))
			}
		})
	})
}

// TestWatchNextTurn tests which worker and turn may run a loop next.
func TestWatchNextTurn(t *testing.T) {
	t.Parallel()

	t.Run("ReleasesTheLoopForTheNextTurnWhenItFails", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			turn := w.started(w.define(nil))
			w.writeErr = errors.New("postgres is down")
			if _, err := w.watch(turn); err == nil {
				t.Fatal("the turn succeeded")
			}
			w.writeErr = nil
			w.must(w.watch(turn))
		})
	})

	t.Run("ClaimsALoopOfAnotherWorker", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Worker = "host/pid/mark" })
			def := w.define(nil)
			turn := turnOf(def, vigil.State{})
			turn.By = "another"
			result := w.must(w.watch(turn))
			if claims := w.watcher.TakeClaims(); result.By != "mark" || !slices.Equal(claims[region], []uuid.UUID{def.Check.ID}) {
				t.Errorf("by %q with claims %v", result.By, claims)
			}
			turn = turnOf(def, result.State)
			turn.By = result.By
			w.must(w.watch(turn))
			if claims := w.watcher.TakeClaims(); len(claims) != 0 {
				t.Errorf("a loop that stayed here is claimed: %v", claims)
			}
			w.watcher.ReturnClaims(region, []uuid.UUID{def.Check.ID})
			if claims := w.watcher.TakeClaims(); len(claims[region]) != 1 {
				t.Errorf("claims %v after one was returned", claims)
			}
		})
	})

	t.Run("FailsAsSupersededWhenANewerTurnTookTheLoopFirst", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			w.observe = takes(10 * time.Second)
			const loops = 10 // the order of two waiting turns is random
			errs := make(chan error, loops)
			for range loops {
				def := w.define(nil)
				turn := turnOf(def, vigil.State{})
				go func() { _, _ = w.watch(turn) }()
				time.AfterFunc(time.Second, func() {
					_, err := w.watch(turn)
					errs <- err
				})
				time.AfterFunc(2*time.Second, func() { _, _ = w.watch(turn) })
			}
			for range loops {
				if err := <-errs; err == nil || !strings.Contains(err.Error(), "a newer turn of this loop took over") {
					t.Errorf("the turn between the two ended with %v", err)
				}
			}
			time.Sleep(5 * time.Minute)
		})
	})
}
