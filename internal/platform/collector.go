// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The collector runs each time the heap has grown by some bytes. Twice the growth costs that
// much more memory and half of the collector's CPU time. The heap grows by as much as is in
// use, as it does by Go's own rule, and by at most mostGrowth, or liveShare of what is in use where that is
// more, and growthShare of the machine's memory: thousands of checks that are created at once leave heaps of garbage for a minute, and the
// places between what is in use stay taken for much longer.
const (
	mostGrowth  = 96 << 20
	liveShare   = 0.5
	growthShare = 1.0 / 16

	// The growth in percent of the heap in use, as GOGC counts it.
	minGCPercent, firstGCPercent = 10, 100
	// gcStep is the least change of the percentage, as a part of it.
	gcStep = 0.2

	gcInterval = 5 * time.Second
)

// boundHeap bounds how far the heap grows between two runs of the collector, until ctx ends. memory is that of the machine in
// bytes, 0 when it is not known.
func boundHeap(ctx context.Context, memory int64) {
	tick := time.NewTicker(gcInterval)
	defer tick.Stop()
	percent := firstGCPercent
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if next := readHeap().percent(percent, memory); next != percent {
				percent = next
				debug.SetGCPercent(percent)
			}
		}
	}
}

// heap is what the collector has found.
type heap struct {
	live uint64 // bytes that its last run found in use
	goal uint64 // bytes at which the next one begins
}

func readHeap() heap {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}}
	metrics.Read(samples)
	var read [2]uint64
	for i, sample := range samples {
		if sample.Value.Kind() == metrics.KindUint64 {
			read[i] = sample.Value.Uint64()
		}
	}
	return heap{live: read[0], goal: read[1]}
}

// percent returns the percentage by which the heap may grow, where one was in force, on a machine with memory.
func (h heap) percent(now int, memory int64) int {
	if h.live == 0 || h.goal <= h.live {
		return now
	}
	// A percent is not a hundredth of the heap in use, since the runtime adds stacks and variables to that.
	onePercent := float64(h.goal-h.live) / float64(now)
	most := max(mostGrowth, liveShare*float64(h.live))
	if memory > 0 {
		most = min(most, growthShare*float64(memory))
	}
	next := int(min(max(most/onePercent, minGCPercent), firstGCPercent))
	if math.Abs(float64(next-now)) < gcStep*float64(now) {
		return now
	}
	return next
}
