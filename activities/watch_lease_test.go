// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// leased is a fixture whose worker needs a lease.
type leased struct {
	*watchFixture
	lease *activities.LeaseHolder
}

func newLeased(t *testing.T) *leased {
	t.Helper()
	lease := activities.NewLeaseHolder(time.Now)
	w := newWatchFixture(t, func(o *activities.WatcherOptions) {
		o.Lease, o.TurnRate, o.QuietWindow, o.Probes = lease, tiny, time.Hour, fair.New(places(1))
	})
	return &leased{w, lease}
}

// renew renews the lease now.
func (l *leased) renew(fence int64) []string {
	return l.lease.Renewed(time.Now(), map[string]int64{region: fence}, 0)
}

// keep renews the lease every second until the end of the test.
func (l *leased) keep(fence int64) {
	ctx, stop := context.WithCancel(l.Context())
	l.Cleanup(stop)
	l.renew(fence)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.renew(fence)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// hold renews the lease every second for a time.
func (l *leased) hold(fence int64, d time.Duration) {
	for end := time.Now().Add(d); ; time.Sleep(time.Second) {
		l.renew(fence)
		if !time.Now().Before(end) {
			return
		}
	}
}

// begin runs a check's first turn and starts the next one, of several slots, one minute
// apart. Then it holds the lease until ten seconds before the next slot.
func (l *leased) begin(prepare func(*testsuite.TestActivityEnvironment)) (next time.Time, end <-chan ended) {
	l.Helper()
	l.renew(1)
	def := l.define(nil)
	turn := l.started(def)
	turn.Span = 4
	done := make(chan ended, 1)
	go func() {
		result, err := l.watchWith(turn, prepare)
		done <- ended{result, err, time.Now()}
	}()
	next = scheduleOf(def).Next(turn.State.Slot)
	l.hold(1, time.Until(next)-10*time.Second)
	return next, done
}

type ended struct {
	result activities.TurnResult
	err    error
	at     time.Time
}

func plain(*testsuite.TestActivityEnvironment) {}

// probes returns how many probes have begun.
func (l *leased) probes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runs)
}

// TestWatchParked tests what a turn does while its worker cannot renew its lease.
func TestWatchParked(t *testing.T) {
	t.Parallel()

	t.Run("GoesOnWithTheNewestSlotOnceTheLeaseIsRenewed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			next, end := w.begin(plain)
			time.Sleep(2*time.Minute + 30*time.Second) // two more slots come and go
			if n := w.probes(); n != 1 || !w.lease.Parked() {
				t.Errorf("%d probes, parked %v", n, w.lease.Parked())
			}
			back := time.Now()
			w.keep(1)
			got := <-end
			if got.err != nil || got.result.End != vigil.TurnCovered {
				t.Fatalf("the turn ended with %+v, %v", got.result, got.err)
			}
			if w.runs[1].Before(back) || w.runs[1].After(back.Add(time.Millisecond)) || !w.rows[1].Slot.Equal(next.Add(2*time.Minute)) {
				t.Errorf("probe at %v for slot %v; the lease was renewed at %v, the slot after it is %v", w.runs[1], w.rows[1].Slot, back, next)
			}
		})
	})

	t.Run("EndsWithoutAProbeWhenTheLeaseIsANewOne", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			_, end := w.begin(plain)
			time.Sleep(time.Minute)
			back := time.Now()
			if lost := w.renew(2); !slices.Equal(lost, []string{region}) {
				t.Errorf("lost %v", lost)
			}
			got := <-end
			if got.err != nil || got.result.End != vigil.TurnHandOver || got.result.Span != 4 || !got.at.Equal(back) || w.probes() != 1 {
				t.Errorf("the turn ended at %v with %+v, %v after %d probes", got.at, got.result, got.err, w.probes())
			}
		})
	})

	t.Run("EndsAtItsNextSlotWhenTheLeaseIsANewOne", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			next, end := w.begin(plain)
			w.keep(2) // the lease was revoked in the meantime
			got := <-end
			if got.err != nil || got.result.End != vigil.TurnHandOver || !got.at.Equal(next) || w.probes() != 1 {
				t.Errorf("the turn ended at %v with %+v, %v after %d probes; its slot is %v", got.at, got.result, got.err, w.probes(), next)
			}
		})
	})

	t.Run("StoresAProbeInFlight", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			next, end := w.begin(plain)
			w.set(func() { w.observe = takes(8 * time.Second) })
			w.hold(1, time.Until(next))
			time.Sleep(time.Minute)
			w.set(func() {
				if len(w.rows) != 2 || !w.rows[1].Slot.Equal(next) || len(w.runs) != 2 {
					t.Errorf("rows %+v after probes at %v", w.rows, w.runs)
				}
			})
			w.renew(2)
			if got := <-end; got.err != nil || got.result.End != vigil.TurnHandOver || !got.result.State.Slot.Equal(next) {
				t.Errorf("the turn ended with %+v, %v", got.result, got.err)
			}
		})
	})

	t.Run("LooksAtTheLeaseAgainAfterItsWaitForAPlace", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			_, end := w.begin(plain)
			held := w.watcher.Probes.Join(fair.Claim{Organization: "another"})
			w.hold(1, 20*time.Second)
			time.Sleep(10 * time.Second)
			held.Leave()
			synctest.Wait()
			if n := w.probes(); n != 1 {
				t.Errorf("%d probes, want none after the lease has expired", n)
			}
			w.renew(2)
			if got := <-end; got.err != nil || got.result.End != vigil.TurnHandOver {
				t.Errorf("the turn ended with %+v, %v", got.result, got.err)
			}
		})
	})

	t.Run("EndsWhenItsWorkerStops", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			stop := make(chan struct{})
			_, end := w.begin(func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
			time.Sleep(time.Minute)
			close(stop)
			if got := <-end; got.err != nil || got.result.End != vigil.TurnHandOver || w.probes() != 1 {
				t.Errorf("the turn ended with %+v, %v", got.result, got.err)
			}
		})
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			ctx, cancel := context.WithCancel(t.Context())
			_, end := w.begin(func(env *testsuite.TestActivityEnvironment) {
				env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			})
			time.Sleep(time.Minute)
			cancel()
			if got := <-end; got.err == nil || !strings.Contains(got.err.Error(), "context canceled") {
				t.Errorf("the turn ended with %+v, %v", got.result, got.err)
			}
		})
	})
}

// TestWatchRefused tests what becomes of a turn that reaches a worker without a lease.
func TestWatchRefused(t *testing.T) {
	t.Parallel()

	t.Run("IsHandedOverAsItIs", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			w.renew(1)
			def := w.define(nil)
			turn := w.started(def)
			turn.Span, turn.Recover = 4, true
			time.Sleep(fleet.LeaseTimeout + time.Millisecond)
			began := time.Now()
			got := w.must(w.watch(turn))
			next := scheduleOf(def).Next(turn.State.Slot)
			if got.End != vigil.TurnHandOver || got.Span != 4 || !got.Behind || !got.State.Slot.Equal(turn.State.Slot) ||
				!got.Next.Equal(next) || got.Revision != 1 {
				t.Errorf("result %+v, the next slot is %v", got, next)
			}
			if !time.Now().Equal(began) || w.probes() != 1 {
				t.Errorf("it took %v and %d probes", time.Since(began), w.probes()-1)
			}
		})
	})

	t.Run("EndsAnOlderTurnThatIsParkedHere", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			_, end := w.begin(plain)
			time.Sleep(time.Minute)
			for id := range w.defs {
				w.must(w.watch(activities.Turn{CheckID: id, Region: region, Revision: 1, Span: 1}))
			}
			if got := <-end; got.err == nil || !strings.Contains(got.err.Error(), "a newer turn of this loop took over") {
				t.Errorf("the older turn ended with %+v, %v", got.result, got.err)
			}
		})
	})

	t.Run("FailsWhenTheDefinitionIsNotKnown", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newLeased(t)
			w.renew(1)
			def := w.define(nil)
			turn := w.started(def)
			turn.Revision++ // its definition is only in the store
			time.Sleep(time.Minute)
			w.set(func() { w.reads = 0 })
			if got, err := w.watch(turn); err == nil || !strings.Contains(err.Error(), "cannot renew its lease") {
				t.Errorf("%+v, %v", got, err)
			}
			if w.reads > 0 {
				t.Errorf("%d reads of the store", w.reads)
			}
		})
	})
}

// TestLeaseHolder tests when the leases of a process hold.
func TestLeaseHolder(t *testing.T) {
	t.Parallel()
	type step struct {
		name       string
		after      time.Duration // on the machine's clocks
		suspended  time.Duration // the time of day goes on, the monotonic clock does not
		renew      bool
		took       time.Duration // from the request to the answer
		difference time.Duration
		want       bool
	}
	for name, steps := range map[string][]step{
		"Expires": {
			{name: "before the first renewal"},
			{name: "renewed", renew: true, want: true},
			{name: "at its timeout", after: fleet.LeaseTimeout, want: true},
			{name: "after it", after: time.Millisecond},
			{name: "renewed again", renew: true, want: true},
		},
		"CountsFromTheRequest": {
			{name: "the answer took as long as the lease", renew: true, took: fleet.LeaseTimeout, want: true},
			{name: "a moment later", after: time.Millisecond},
			{name: "the answer took longer", renew: true, took: 2 * time.Minute},
		},
		"CountsTheTimeOfDayToo": {
			{name: "renewed", renew: true, want: true},
			{name: "after a suspension", suspended: time.Minute},
		},
		"NeedsARightClock": {
			{name: "ahead within the limit", renew: true, difference: fleet.ClockLimit, want: true},
			{name: "ahead beyond it", renew: true, difference: fleet.ClockLimit + 1},
			{name: "behind beyond it", renew: true, difference: -fleet.ClockLimit - 1},
			{name: "right again", renew: true, want: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			lease := activities.NewLeaseHolder(func() time.Time { return now })
			for _, step := range steps {
				now = now.Add(step.after)
				if step.suspended > 0 {
					now = now.Round(0).Add(step.suspended) // a reading without the monotonic clock
				}
				if step.renew {
					sent := now
					now = now.Add(step.took)
					lease.Renewed(sent, map[string]int64{region: 7}, step.difference)
				}
				if fence, ok := lease.Holds(region); ok != step.want || step.want && fence != 7 {
					t.Errorf("%s: holds %v with fence %d, want %v", step.name, ok, fence, step.want)
				}
				if lease.Parked() == step.want || lease.ClockDifference() != step.difference && step.renew {
					t.Errorf("%s: parked %v, clocks %v apart", step.name, lease.Parked(), lease.ClockDifference())
				}
				if _, ok := lease.Holds("ap-southeast-sin"); ok {
					t.Errorf("%s: the lease of another region holds", step.name)
				}
			}
		})
	}
}

// TestWatchFoldsEveryStoredResult tests that the state of a loop includes what another
// worker stored meanwhile, in the order of slots.
func TestWatchFoldsEveryStoredResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatchFixture(t)
		def := w.define(nil)
		turn := w.started(def)
		schedule := scheduleOf(def)
		first := schedule.Next(turn.State.Slot)
		time.Sleep(time.Until(first.Add(3*time.Minute + time.Second))) // three slots are over, and the fourth is due
		for i := range 3 {
			slot := first.Add(time.Duration(i) * time.Minute)
			w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: slot})
		}
		w.observe = fails
		got := w.must(w.watch(turn))
		if want := first.Add(3 * time.Minute); got.State.Failures != 4 || !got.State.Slot.Equal(want) || len(w.runs) != 2 {
			t.Errorf("state %+v after %d probes; want 4 failures up to %v", got.State, len(w.runs)-1, want)
		}
	})
}

// TestWatchWithoutItsLoop tests that a turn ends as superseded when another worker has
// stored newer results.
func TestWatchWithoutItsLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWatchFixture(t)
		turn := w.started(w.define(nil))
		w.writeErr = vigil.Errorf(vigil.CodeConflict, "too late")
		if got, err := w.watch(turn); err == nil || !strings.Contains(err.Error(), "a newer turn of this loop took over") {
			t.Errorf("the turn ended with %+v, %v", got, err)
		}
	})
}
