// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"runtime"
	"testing"
	"time"
)

func TestProcessors(t *testing.T) {
	t.Parallel()

	// look repeats a reading and returns how many processors the process then uses.
	look := func(p *processors, times int, busy, waited float64) int {
		for range times {
			p.next(busy, waited)
		}
		return p.now
	}

	t.Run("GivesThemBackAfterAWhile", func(t *testing.T) {
		t.Parallel()
		p := &processors{all: 8, now: 8}
		if got := look(p, processorPatience-1, 0.1, 0); got != 8 {
			t.Errorf("%d processors before the time is over, want 8", got)
		}
		if got := look(p, 1, 0.1, 0); got != 1 {
			t.Errorf("%d processors of a process at rest, want 1", got)
		}
	})

	t.Run("KeepsWhatItNeededMeanwhile", func(t *testing.T) {
		t.Parallel()
		p := &processors{all: 8, now: 8}
		look(p, processorPatience/2, 0.1, 0)
		look(p, 1, 2, 0)
		if got := look(p, processorPatience/2, 0.1, 0); got != 3 {
			t.Errorf("%d processors where 2 were busy a moment ago, want 3", got)
		}
	})

	t.Run("TakesMoreAtOnceWhenTheyAreBusy", func(t *testing.T) {
		t.Parallel()
		p := &processors{all: 8, now: 1}
		for i, want := range []int{2, 3, 5, 8, 8} {
			if got := p.next(float64(p.now), 0); got != want {
				t.Errorf("look %d: %d processors, want %d", i, got, want)
			}
		}
	})

	t.Run("TakesMoreWhenGoroutinesWait", func(t *testing.T) {
		t.Parallel()
		p := &processors{all: 4, now: 1}
		if got := p.next(0.3, longWaits+0.01); got != 2 {
			t.Errorf("%d processors where other programs have the machine, want 2", got)
		}
		if got := p.next(0.3, longWaits+0.01); got != 4 {
			t.Errorf("%d processors where they still wait, want 4", got)
		}
	})

	t.Run("IsOneAtLeast", func(t *testing.T) {
		t.Parallel()
		p := &processors{all: 1, now: 1}
		if got := look(p, 2*processorPatience, 0, 0); got != 1 {
			t.Errorf("%d processors, want 1", got)
		}
		if got := p.next(1, 1); got != 1 {
			t.Errorf("%d processors on a machine of one", got)
		}
	})
}

// TestDemand has a goroutine wait for the only processor while another one has it. It sets
// GOMAXPROCS, so it runs alone.
func TestDemand(t *testing.T) { //nolint:paralleltest // it changes the process
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before := readDemand()
	const spins = 200
	ended := make(chan struct{}, spins)
	for range spins { // the runtime counts one of eight goroutines
		go func() {
			for until := time.Now().Add(2 * longWait); time.Now().Before(until); {
			}
			ended <- struct{}{}
		}()
	}
	for range spins {
		<-ended
	}
	after := readDemand()
	busy, waited := after.since(before)
	// One on a machine at rest; other programs may have left it any part of one.
	if wall := after.at.Sub(before.at); busy > 1.5 || busy <= 0 || busy < 0.9*(after.cpu-before.cpu).Seconds()/wall.Seconds() {
		t.Errorf("%.2f processors were busy in %v, %v of CPU", busy, wall, after.cpu-before.cpu)
	}
	if spun := after.cpu - before.cpu; spun < longWait {
		t.Errorf("the process used %v of CPU while it spun", spun)
	}
	if waited < longWaits {
		t.Errorf("%.3f of the goroutines waited long, want most", waited)
	}
}
