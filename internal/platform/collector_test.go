// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"runtime"
	"testing"
	"time"
)

func TestShareOfTheCollector(t *testing.T) {
	t.Parallel()
	var since effort
	now := effort{at: since.at.Add(10 * time.Second), collector: 3, busy: 30, cpu: time.Second}
	want := 0.1 * 1 / (10 * float64(runtime.GOMAXPROCS(0))) // a tenth of a second in ten
	if got := now.share(since); got < 0.99*want || got > 1.01*want {
		t.Errorf("a share of %v, want %v", got, want)
	}
	if got := since.share(since); got != 0 {
		t.Errorf("a share of %v of no time", got)
	}
	first := readEffort()
	runtime.GC()
	if second := readEffort(); second.collector <= first.collector || second.cpu <= 0 || second.busy < second.collector {
		t.Errorf("%+v follows %+v", second, first)
	}
}

func TestWorkOfTheCollector(t *testing.T) {
	t.Parallel()
	var since effort
	now := effort{
		at: since.at.Add(10 * time.Second), collector: 1, busy: 10, cpu: 10 * time.Second,
		cycles: 5, allocated: 500 << 20, live: 100 << 20, goal: 150 << 20,
	}
	want := 0.1 / float64(runtime.GOMAXPROCS(0)) * (100 << 20)
	if got := now.work(since); got < 0.99*want || got > 1.01*want {
		t.Errorf("the work is %v, want %v", got, want)
	}
	if got := now.work(now); got != 0 {
		t.Errorf("the work is %v without a run of the collector", got)
	}
	if got := now.growth(50); got != 1<<20 {
		t.Errorf("a percent is %v bytes, want a hundredth of what 100 %% would be", got)
	}
	if got := (effort{live: 2, goal: 1}).growth(50); got != 0 {
		t.Errorf("a percent is %v bytes above the goal", got)
	}
}

func TestNextGCPercent(t *testing.T) {
	t.Parallel()
	const mib, gib = 1 << 20, 1 << 30
	for fact, test := range map[string]struct {
		percent int
		growth  float64 // of a percent
		work    float64
		memory  int64
		want    int
		live    float64
	}{
		// The square root of 0.01 * 30 MiB * 24 GiB / 7.5 is 31 MiB, and the collector takes
		// 1.0 % of the CPU time then.
		"TheBestGrowth":          {25, mib / 2, 0.01 * 30 * mib, 24 * gib, 62, 0},
		"NoMoreThanItsShare":     {25, mib / 4, 0.036 * 30 * mib, 24 * gib, 360, 0}, // 90 MiB, the root is 59
		"AlsoWithLittleMemory":   {25, mib / 2, 0.02 * 30 * mib, 6 * gib, 100, 0},   // 50 MiB, the root is 22
		"NoHeapOfGarbage":        {100, mib / 2, 0.04 * 300 * mib, 24 * gib, 192, 60 * mib},
		"NotMoreThanHalfInUse":   {100, 2 * mib, 0.04 * 600 * mib, 24 * gib, 150, 600 * mib}, // 300 MiB, its share would be 2,000
		"NotAllOfTheMemory":      {200, mib, 12 * mib, 3 * gib, 92, 0},                       // its share would be 1,000
		"ATwiceAsLargeHeap":      {200, mib, 0.01 * 30 * mib, 24 * gib, 31, 0},
		"LittleWork":             {100, mib / 2, 0.001 * mib, 24 * gib, minGCPercent, 0},
		"MuchWork":               {100, mib / 2, 100 * mib, 24 * gib, maxGCPercent, 900 * mib},
		"NearlyWhatItIs":         {60, mib / 2, 0.01 * 30 * mib, 24 * gib, 60, 0},
		"NoRunOfTheCollector":    {180, mib / 2, 0, 24 * gib, 180, 0},
		"NoGrowth":               {180, 0, 0.1 * 30 * mib, 24 * gib, 180, 0},
		"ASmallHeap":             {25, mib / 4, 0.02 * mib, 24 * gib, 62, 0}, // 16 MiB, at the full price 8
		"NotASmallHeapAnyMore":   {25, mib / 4, 0.06 * mib, 24 * gib, 96, 0}, // 24 MiB, at the small price 27
		"UnknownMemoryIsFourGiB": {25, mib / 16, 0.06 * mib, 0, 177, 0},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			if got := nextGCPercent(test.percent, test.growth, test.work, test.live, test.memory); got != test.want {
				t.Errorf("%d %%, want %d", got, test.want)
			}
		})
	}
}
