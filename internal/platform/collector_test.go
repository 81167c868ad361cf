// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"runtime"
	"testing"
)

func TestPercentOfTheHeap(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for fact, test := range map[string]struct {
		heap   heap
		now    int
		want   int
		memory int64
	}{
		"ASmallHeapDoubles":     {heap{40 * mib, 80 * mib}, 100, 100, 24 << 30},
		"AHeapOfGarbage":        {heap{150 * mib, 342 * mib}, 100, 50, 24 << 30}, // 192 MiB, half of which is the most
		"HalfOfALargeHeap":      {heap{600 * mib, 1200 * mib}, 100, 50, 24 << 30},
		"StacksCountToo":        {heap{100 * mib, 292 * mib}, 100, 50, 24 << 30}, // 92 MiB of stacks double too
		"SmallerAgain":          {heap{40 * mib, 60 * mib}, 50, 100, 24 << 30},
		"NearlyWhatItIs":        {heap{190 * mib, 294 * mib}, 55, 55, 24 << 30}, // 50 would be 8 MiB less
		"NoRunOfTheCollector":   {heap{}, 100, 100, 24 << 30},
		"AGoalThatIsReached":    {heap{40 * mib, 40 * mib}, 70, 70, 24 << 30},
		"ASmallMachine":         {heap{80 * mib, 160 * mib}, 100, 40, 512 * mib},
		"UnknownMemory":         {heap{150 * mib, 342 * mib}, 100, 50, 0},
		"StacksBesideLittleUse": {heap{mib, 4001 * mib}, 100, minGCPercent, 24 << 30},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			if got := test.heap.percent(test.now, test.memory); got != test.want {
				t.Errorf("%d %%, want %d", got, test.want)
			}
		})
	}
	runtime.GC()
	if read := readHeap(); read.live == 0 || read.goal <= read.live {
		t.Errorf("%+v after a run of the collector", read)
	}
}
