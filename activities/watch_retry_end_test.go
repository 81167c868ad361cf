// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/vigil-monitor/vigil"
)

// TestWatchRetryEnds tests what ends the wait between two attempts at once. Nothing is
// stored then, and the slot is still to be probed.
func TestWatchRetryEnds(t *testing.T) {
	t.Parallel()
	slow := vigil.Retry{Attempts: 3, Delay: 10 * time.Second}

	// waiting starts a turn that waits between two attempts, for nine more seconds.
	waiting := func(t *testing.T, w *watchFixture, prepare func(*testsuite.TestActivityEnvironment)) (vigil.Definition, <-chan ended) {
		t.Helper()
		w.observe = sees(failure("one"), vigil.Observation{Success: true})
		def := w.define(retrying(slow))
		end := w.start(turnOf(def, vigil.State{}), prepare)
		time.Sleep(2 * time.Second) // sleep: in a bubble only
		return def, end
	}
	// unstored reports a turn that stored something, probed again, or took time to end.
	unstored := func(t *testing.T, w *watchFixture, got ended, since time.Time) {
		t.Helper()
		if len(w.rows) != 0 || len(w.runs) != 1 || !got.at.Equal(since) || w.watcher.Probing() != 0 {
			t.Errorf("ended after %v with %d rows and %d probes: %+v, %v", got.at.Sub(since), len(w.rows), len(w.runs), got.result, got.err)
		}
	}

	t.Run("TheWorkerStops", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, stop := newWatchFixture(t), make(chan struct{})
			_, end := waiting(t, w, func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
			began := time.Now()
			close(stop)
			got := <-end
			unstored(t, w, got, began)
			if got.err != nil || got.result.End != vigil.TurnHandOver || !got.result.State.Slot.IsZero() {
				t.Errorf("%+v, %v", got.result, got.err)
			}
		})
	})

	t.Run("TheTurnIsCancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			ctx, cancel := context.WithCancel(t.Context())
			_, end := waiting(t, w, func(env *testsuite.TestActivityEnvironment) {
				env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			})
			began := time.Now()
			cancel()
			got := <-end
			unstored(t, w, got, began)
			if got.err == nil {
				t.Errorf("%+v", got.result)
			}
		})
	})

	t.Run("ANewerTurnTakesOver", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def, end := waiting(t, w, plain)
			slot := scheduleOf(def).First()
			newer := turnOf(def, vigil.State{})
			newer.Recover = true
			w.must(w.watch(newer))
			if got := <-end; got.err == nil || len(w.rows) != 1 || !w.rows[0].Slot.Equal(slot) || w.rows[0].Metadata != nil {
				t.Errorf("older turn %+v, %v; rows %+v", got.result, got.err, w.rows)
			}
		})
	})

	t.Run("TheDefinitionChanges", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def, end := waiting(t, w, plain)
			w.revise(def, func(d *vigil.Definition) { d.Check.Retry = vigil.Retry{} })
			got := <-end
			if got.err != nil || got.result.Revision != 2 || len(w.rows) != 1 || !w.rows[0].Success || w.rows[0].Metadata != nil {
				t.Errorf("%+v, %v; rows %+v", got.result, got.err, w.rows)
			}
		})
	})

	t.Run("TheCheckIsDeleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def, end := waiting(t, w, plain)
			w.remove(def)
			if got := <-end; got.err != nil || got.result.End != vigil.TurnGone || len(w.rows) != 0 {
				t.Errorf("%+v, %v; rows %+v", got.result, got.err, w.rows)
			}
		})
	})

	t.Run("TheLeaseExpires", func(t *testing.T) {
		t.Parallel()
		for fence, want := range map[int64]vigil.TurnEnd{1: vigil.TurnChanged, 2: vigil.TurnHandOver} {
			t.Run(fmt.Sprint("ThenFence", fence), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newLeased(t)
					w.renew(1)
					_, end := waiting(t, w.watchFixture, plain)
					time.Sleep(20 * time.Second) // beyond the delay
					if n := w.probes(); n != 1 {
						t.Errorf("%d probes, want none without a lease", n)
					}
					w.keep(fence)
					got := <-end
					if got.err != nil || got.result.End != want || len(w.rows) != int(2-fence) {
						t.Errorf("%+v, %v; rows %+v", got.result, got.err, w.rows)
					}
				})
			})
		}
	})
}
