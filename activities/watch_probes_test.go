// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fair"
)

// places are limits of n probes at once.
func places(n int) fair.Limits {
	return fair.Limits{Places: 100 * n, Starting: n, Settle: time.Hour, SlowAfter: 2 * time.Hour}
}

// TestWatchProbes tests how turns share the limit of concurrent probes.
func TestWatchProbes(t *testing.T) {
	t.Parallel()

	two := func(o *activities.WatcherOptions) { o.Probes = fair.New(places(2)) }

	t.Run("RunsNoMoreProbesThanTheLimit", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, two)
			w.observe = takes(3 * time.Second)
			began := time.Now()
			var turns sync.WaitGroup
			errs := make(chan error, 5)
			for range 5 {
				def := w.define(nil)
				turns.Go(func() {
					result, err := w.watch(turnOf(def, vigil.State{}))
					if err == nil && result.End != vigil.TurnChanged {
						err = fmt.Errorf("end %s", result.End)
					}
					errs <- err
				})
			}
			time.Sleep(time.Second)
			if n := w.watcher.Probing(); n != 2 {
				t.Errorf("%d probes run, want 2", n)
			}
			turns.Wait()
			for range 5 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if w.atOnce != 2 || len(w.rows) != 5 || w.watcher.Probing() != 0 {
				t.Errorf("%d at once, %d rows, %d still run; want 2, 5 and 0", w.atOnce, len(w.rows), w.watcher.Probing())
			}
			for i, row := range w.rows {
				if want := began.Add(time.Duration(i/2) * 3 * time.Second); !row.Slot.Equal(began) || !row.Time.Equal(want) {
					t.Errorf("row %d is of slot %v at %v, want %v at %v: waiting is lateness", i, row.Slot, row.Time, began, want)
				}
			}
		})
	})

	t.Run("FailsWhenItsContextEndsBeforeAProbeMayRun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			queue := fair.New(places(1))
			w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Probes = queue })
			def := w.define(nil)
			held := queue.Join(fair.Claim{Organization: "another"})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Second, cancel)
			if _, err := w.watchIn(ctx, turnOf(def, vigil.State{})); err == nil || !strings.Contains(err.Error(), "context canceled") {
				t.Errorf("the turn ended with %v", err)
			}
			if len(w.runs) != 0 || w.watcher.Probing() != 1 {
				t.Errorf("%d probes began, and %d run", len(w.runs), w.watcher.Probing())
			}
			held.Leave()
			if w.must(w.watch(turnOf(def, vigil.State{}))); len(w.rows) != 1 {
				t.Errorf("%d rows", len(w.rows))
			}
		})
	})
}
