// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

// TestEventsComeInOrder proves that the heap returns events in the order of time, each once.
func TestEventsComeInOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var h events
	var want, got []int64
	for range 5000 {
		if at := rng.Int64N(1000); rng.IntN(3) > 0 || len(h) == 0 {
			at += int64(len(got)) // not before what was returned
			h.push(event{at: at})
			want = append(want, at)
			continue
		}
		got = append(got, h.pop().at)
	}
	for range len(h) {
		got = append(got, h.pop().at)
	}
	slices.Sort(want)
	tail := slices.Clone(got[len(got)-100:])
	slices.Sort(got)
	if !slices.Equal(got, want) || !slices.IsSorted(tail) {
		t.Error("the events that came are not those that were pushed, or the last ones are not in their order")
	}
}

// TestHostSharesItsCores proves that work begins when a core is free, that a short piece does not wait for a long one, and
// that no time of a core is lost.
func TestHostSharesItsCores(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	h := newHost(2)
	h.work(0, 3*ms)
	if begins, ends := h.work(0, 5*ms); begins != 0 || ends != 5*ms {
		t.Errorf("a long piece on the second core is from %d to %d ns; want from 0 to 5 ms", begins, ends)
	}
	if begins, ends := h.work(0, 4*ms); begins != 3*ms || ends != 7*ms {
		t.Errorf("a third one is from %d to %d ns; want from 3 to 7 ms", begins, ends)
	}
	if begins, ends := h.work(ms, ms/5); begins != ms+ms/2 || ends != begins+ms/5 {
		t.Errorf("a short piece is from %d to %d ns; want from 1.5 to 1.7 ms", begins, ends)
	}
	var last int64
	for range 1000 { // at once: they take the time of both cores, and not more
		_, ends := h.work(100*ms, ms/2)
		last = max(last, ends)
	}
	if last < 350*ms || last > 353*ms {
		t.Errorf("1,000 pieces of 0.5 ms on two cores, from 100 ms on, end after %d ns; want 350 ms", last)
	}
	var end int64
	for range 100 {
		_, ends := h.work(1000*ms, 20*ms)
		end = max(end, ends)
	}
	if end != 2000*ms {
		t.Errorf("100 pieces of 20 ms on two cores, from 1 s on, end after %d ns; want 2 s", end)
	}
}

// TestHistogram proves that quantiles are right to some percent.
func TestHistogram(t *testing.T) {
	t.Parallel()
	h := &histogram{}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	for _, part := range []float64{0.5, 0.9, 0.99} {
		want := part * float64(time.Second)
		if got := float64(h.at(part)); math.Abs(got/want-1) > 0.03 {
			t.Errorf("%v of them are below %v; want %v", part, time.Duration(got), time.Duration(want))
		}
	}
	if h.at(1) != time.Second {
		t.Errorf("the longest is %v; want 1s", h.at(1))
	}
}

// TestFitFindsTheCosts proves that the costs of recordings that follow from costs are found.
func TestFitFindsTheCosts(t *testing.T) {
	t.Parallel()
	want := Work{Rest: 0.03, Result: 0.25e-3, Wake: 0.2e-3, Turn: 4e-3}
	var runs []Recording
	for _, r := range []struct {
		checks   int
		interval float64
		turns    int64
	}{{100, 60, 200}, {1000, 60, 170}, {1000, 60, 2000}, {10_000, 60, 500}, {1000, 10, 190}, {1000, 1, 170}} {
		results := float64(r.checks) / r.interval * 120
		wakes := results * math.Exp(-results/120*wakeAfter.Seconds())
		groups := math.Min(results, 480)
		runs = append(runs, Recording{
			Checks: r.checks, Interval: r.interval, Took: 120, Cores: 2, Results: int64(results), Groups: int64(groups), Turns: r.turns,
			Worker: Part{CPU: want.of(120, results, wakes, groups, float64(r.turns)), Memory: 1e8 + int64(r.checks)*25_000},
		})
	}
	m, err := Fit(runs)
	if err != nil {
		t.Fatal(err)
	}
	near := func(name string, got, want float64) {
		if math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s: %g; want %g", name, got, want)
		}
	}
	near("rest", m.Worker.Rest, want.Rest)
	near("result", m.Worker.Result, want.Result)
	near("wake", m.Worker.Wake, want.Wake)
	near("turn", m.Worker.Turn, want.Turn)
	near("memory", m.WorkerMemory.Rest, 1e8)
	near("memory of a loop", m.WorkerMemory.Loop, 25_000)
	if _, err := Fit(runs[:1]); err == nil {
		t.Error("one run is enough to tell its costs apart")
	}
}

// TestVotesOfALostRegion proves when the policies of a rule are met whose check fails while one of its regions is lost.
func TestVotesOfALostRegion(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	v := voter{fails: 10 * second, silent: 150 * second, others: []int64{20 * second, 40 * second}, usual: 30 * second}
	end := 300 * second
	for _, c := range []struct {
		policy      vigil.RegionPolicy
		usual, lost time.Duration
	}{
		{vigil.AnyRegion, 10 * time.Second, 10 * time.Second},
		{vigil.MostRegions, 20 * time.Second, 30 * time.Second}, // two of three: with the lost one, or with the last
		{vigil.AllRegions, 30 * time.Second, 140 * time.Second}, // once the lost one is silent
	} {
		if got, ok := v.opens(c.policy, v.usual, end); !ok || got != c.usual {
			t.Errorf("%s without the loss: met after %v, %v; want %v", c.policy, got, ok, c.usual)
		}
		if got, ok := v.opens(c.policy, 0, end); !ok || got != c.lost {
			t.Errorf("%s with the loss: met after %v, %v; want %v", c.policy, got, ok, c.lost)
		}
	}
	if got, ok := v.opens(vigil.AllRegions, 0, 100*second); ok {
		t.Errorf("all regions: met after %v, before the lost one is silent", got)
	}
}
