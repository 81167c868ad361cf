// SPDX-License-Identifier: Apache-2.0

package timingtest

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGate lets one test begin, and each further one when time is left or none runs any more.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var percent atomic.Int64
		percent.Store(10)
		g := newGate(func() func() float64 {
			return func() float64 { return float64(percent.Load()) / 100 }
		}, 0)
		began := make(chan func(), 2)
		enter := func() { began <- g.enter() }
		waits := func() {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(began) != 0 {
				t.Fatal("another test began on a busy machine")
			}
		}
		begins := func(within time.Duration) (leave func()) {
			t.Helper()
			time.Sleep(within)
			synctest.Wait()
			if len(began) != 1 {
				t.Fatalf("%d tests began, want one", len(began))
			}
			return <-began
		}

		first := g.enter()
		go enter()
		waits()
		first()
		second := begins(look) // the end of a look that began before
		go enter()
		waits()
		percent.Store(40)
		third := begins(look)
		percent.Store(60)
		go enter()
		fourth := begins(glance)
		second()
		third()
		fourth()
		if n := g.running.Load(); n != 0 {
			t.Errorf("%d tests run at the end", n)
		}
	})
}

// TestGateBeside counts what programs beside the tests take as not left.
func TestGateBeside(t *testing.T) {
	t.Parallel()
	g := newGate(nil, besideOf("0.5"))
	for left, want := range map[float64]float64{1: 1, 0.75: 0.5, 0.5: 0} {
		if got := g.ofTests(left); got != want {
			t.Errorf("with %v of all time left, %v of that of the tests is, want %v", left, got, want)
		}
	}
	for _, value := range []string{"", "1", "-0.1", "half", "NaN"} {
		if part := besideOf(value); part != 0 {
			t.Errorf("%q means %v, want 0", value, part)
		}
	}
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
	if part := watch()(); part < 0 || part > 1 {
		t.Errorf("%v of the processors' time is left", part)
	}
}
