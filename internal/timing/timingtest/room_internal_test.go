// SPDX-License-Identifier: Apache-2.0

package timingtest

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGate lets as many tests begin as there are processors, and each further one when time is left or one has ended.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var percent atomic.Int64
		percent.Store(10)
		g := newGate(2, func() float64 { time.Sleep(look); return float64(percent.Load()) / 100 })
		first, second := g.enter(), g.enter()
		began := make(chan func(), 3)
		enter := func() { began <- g.enter() }
		begins := func(after time.Duration) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if len(began) != 1 {
				t.Fatalf("%d tests began after %v, want one", len(began), after)
			}
			(<-began)()
		}

		go enter()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(began) != 0 {
			t.Fatal("a third test began on a busy machine")
		}
		first()
		begins(look)

		first = g.enter()
		go enter()
		time.Sleep(time.Minute)
		percent.Store(30)
		begins(2 * look)

		percent.Store(100)
		go enter()
		begins(look)
		first()
		second()
		if n := g.running.Load(); n != 0 {
			t.Errorf("%d tests run at the end", n)
		}
	})
}

// TestTicks reads what a kernel writes.
func TestTicks(t *testing.T) {
	t.Parallel()
	for stat, want := range map[string][2]uint64{
		"cpu  100 20 30 400 5 1 2 3 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n": {425, 561},
		"": {},
	} {
		if free, all := ticks(stat); free != want[0] || all != want[1] {
			t.Errorf("%d of %d ticks are left in %q, want %v", free, all, stat, want)
		}
	}
	if part := left(); part < 0 || part > 1 {
		t.Errorf("%v of the processors' time is left", part)
	}
}
