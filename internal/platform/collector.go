// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"
)

// The collector runs each time the heap has grown by some bytes. Twice the growth costs that
// much more memory and half of the collector's CPU time. The growth with which both together
// cost least is the square root of the work of the collector, which is its share of the CPU
// time times the growth, divided by the price of memory (Kirisame et al., "Optimal Heap
// Limits for Reducing Browser Memory Use", 2022).
const (
	// memoryPrice is the part of the machine's CPU time that all of its memory is worth.
	memoryPrice = 7.5
	// smallGrowth is the growth in bytes up to which memory costs smallPrice only. A process
	// with little to do has a small heap beside what it takes anyway, and the collector would
	// be a fifth of its CPU time.
	smallGrowth = 24 << 20
	smallPrice  = 2
	// gcShare is the part of the machine's CPU time that the collector takes at most, up to the
	// bounds of growth below: a process with much to do needs the time for it.
	gcShare = 0.012
	// The heap grows between two runs by at most growthShare of the machine's memory, so that a
	// process without time does not take all of it, and by at most mostGrowth in bytes, or liveShare
	// of what the last run found in use where that is more: thousands of checks that are created at once leave heaps of
	// garbage for a minute, and the places between what is in use stay taken for much longer.
	growthShare = 0.03
	mostGrowth  = 96 << 20
	liveShare   = 0.5
	// unknownMemory is the memory of a machine that does not say how much it has.
	unknownMemory = 4 << 30

	// The growth in percent of the heap in use, as GOGC counts it.
	minGCPercent, firstGCPercent, maxGCPercent = 25, 100, 800
	// gcStep is the least change of the percentage, as a part of it: the measurement is
	// not more precise.
	gcStep = 0.2

	gcInterval = 5 * time.Second
	// The share of the collector is known after gcCycles of its runs. At rest there are few
	// in a minute, and gcPatience is long enough for what they say.
	gcCycles   = 4
	gcPatience = time.Minute
)

// adaptCollector adapts the collector until ctx ends. memory is that of the machine in bytes,
// 0 when it is not known.
func adaptCollector(ctx context.Context, memory int64) {
	tick := time.NewTicker(gcInterval)
	defer tick.Stop()
	percent, last := firstGCPercent, readEffort()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := readEffort()
			if now.cycles < last.cycles+gcCycles && now.at.Sub(last.at) < gcPatience {
				continue
			}
			if next := nextGCPercent(percent, now.growth(percent), now.work(last), float64(now.live), memory); next != percent {
				percent = next
				debug.SetGCPercent(percent)
			}
			last = now
		}
	}
}

// effort is what the collector and the program have done so far.
type effort struct {
	at time.Time
	// collector and busy are the runtime's own estimates in seconds, which include the time
	// that other processes had the processors. Only their relation counts.
	collector, busy float64
	cpu             time.Duration // of the process, as the system counted it
	cycles          uint64        // runs of the collector
	allocated       uint64        // bytes
	live            uint64        // bytes of the heap that the last run found in use
	goal            uint64        // bytes of the heap at which the next one begins
}

func readEffort() effort {
	times := []metrics.Sample{
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}, // most of it, on a machine that has time
		{Name: "/cpu/classes/gc/pause:cpu-seconds"},
		{Name: "/cpu/classes/user:cpu-seconds"},
	}
	metrics.Read(times)
	e := effort{at: time.Now(), cpu: processTime()}
	for i, sample := range times {
		if sample.Value.Kind() != metrics.KindFloat64 {
			continue
		}
		if e.busy += sample.Value.Float64(); i < len(times)-1 {
			e.collector += sample.Value.Float64()
		}
	}
	for name, into := range map[string]*uint64{
		"/gc/cycles/total:gc-cycles": &e.cycles, "/gc/heap/allocs:bytes": &e.allocated,
		"/gc/heap/live:bytes": &e.live, "/gc/heap/goal:bytes": &e.goal,
	} {
		sample := []metrics.Sample{{Name: name}}
		if metrics.Read(sample); sample[0].Value.Kind() == metrics.KindUint64 {
			*into = sample[0].Value.Uint64()
		}
	}
	return e
}

// share is the part of the machine's CPU time that the collector has taken since another
// reading.
func (e effort) share(since effort) float64 {
	busy, wall := e.busy-since.busy, e.at.Sub(since.at).Seconds()
	if busy <= 0 || wall <= 0 {
		return 0
	}
	used := (e.cpu - since.cpu).Seconds() * (e.collector - since.collector) / busy
	return used / (wall * float64(allProcessors))
}

// work is what the collector has had to do since another reading, however much the heap grew
// between its runs: its share of the machine's CPU time, times the bytes between two runs.
// It is 0 when it is not known.
func (e effort) work(since effort) float64 {
	if e.cycles <= since.cycles {
		return 0
	}
	return e.share(since) * float64(e.allocated-since.allocated) / float64(e.cycles-since.cycles)
}

// growth is the growth in bytes that one percent means now. It is not a hundredth of the heap
// in use, since the runtime adds stacks and variables to that.
func (e effort) growth(percent int) float64 {
	return float64(max(e.goal, e.live)-e.live) / float64(percent)
}

// processTime is the CPU time of this process, 0 where the system does not say.
func processTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// nextGCPercent returns the percentage that follows one. growth is the bytes that one percent
// means, work that of the collector, live the bytes in use, and memory that of the machine in bytes.
func nextGCPercent(percent int, growth, work, live float64, memory int64) int {
	if growth <= 0 || work <= 0 {
		return percent
	}
	if memory <= 0 {
		memory = unknownMemory
	}
	best := max(
		math.Sqrt(work*float64(memory)/memoryPrice),
		min(math.Sqrt(work*float64(memory)/smallPrice), smallGrowth),
		work/gcShare,
	)
	best = min(best, growthShare*float64(memory), max(mostGrowth, liveShare*live))
	next := int(min(max(best/growth, minGCPercent), maxGCPercent))
	if math.Abs(float64(next-percent)) < gcStep*float64(percent) {
		return percent
	}
	return next
}
