// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"time"
)

// The process uses as many processors as its work needs, not as many as the machine has.
// Each time a goroutine becomes ready while a processor is idle, Go's scheduler wakes a thread
// there, which looks for more work and mostly finds none. With little to do that is a quarter
// of the CPU time of the whole platform.
const (
	processorInterval = 500 * time.Millisecond
	// processorLoad is the part of its time that a processor is busy at most, on average.
	processorLoad = 0.7
	// longWait is how long a goroutine that is ready waits for a processor when there are too
	// few, or when other programs have them. Where longWaits of all goroutines wait that long,
	// the process takes twice as many.
	longWait  = time.Millisecond
	longWaits = 0.1
	// processorPatience is how many times in a row fewer processors must be enough before the
	// process gives some back.
	processorPatience = 20
)

// allProcessors is how many processors this process may use: those of the machine, or of the
// control group. How many it does use changes while it runs.
var allProcessors = runtime.GOMAXPROCS(0) //nolint:gochecknoglobals // known at the start only: it is a setting afterwards

// adaptProcessors adapts the number of processors that this process uses, up to all that it
// may, until ctx ends. GOMAXPROCS, when it is set, keeps its meaning.
func adaptProcessors(ctx context.Context, self Program) {
	if self.getenv("GOMAXPROCS") != "" {
		return
	}
	tick := time.NewTicker(processorInterval)
	defer tick.Stop()
	p := processors{all: allProcessors, now: allProcessors}
	last := readDemand()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := readDemand()
			before := p.now
			if next := p.next(now.since(last)); next != before {
				runtime.GOMAXPROCS(next)
			}
			last = now
		}
	}
}

// processors decides how many processors the process uses.
type processors struct {
	all, now int
	most     int // that were needed since fewer than now are enough
	calm     int // how many times in a row
}

// next returns how many processors are needed, by how many were busy on average and which
// part of the goroutines waited long for one.
func (p *processors) next(busy, waited float64) int {
	need := int(math.Ceil(busy / processorLoad))
	if waited > longWaits {
		need = max(need, 2*p.now)
	}
	need = min(max(need, 1), p.all)
	if need >= p.now {
		p.now, p.most, p.calm = need, 0, 0
		return p.now
	}
	p.most, p.calm = max(p.most, need), p.calm+1
	if p.calm >= processorPatience {
		p.now, p.most, p.calm = p.most, 0, 0
	}
	return p.now
}

// demand is what the process has asked of the processors so far.
type demand struct {
	at          time.Time
	cpu         time.Duration
	ready, long uint64 // goroutines that were ready, and those of them that waited long
}

func readDemand() demand {
	d := demand{at: time.Now(), cpu: processTime()}
	latencies := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	if metrics.Read(latencies); latencies[0].Value.Kind() == metrics.KindFloat64Histogram {
		h := latencies[0].Value.Float64Histogram()
		for i, count := range h.Counts {
			d.ready += count
			if h.Buckets[i] >= longWait.Seconds() {
				d.long += count
			}
		}
	}
	return d
}

// since returns how many processors were busy on average since another reading, and which
// part of the goroutines waited long for one.
func (d demand) since(earlier demand) (busy, waited float64) {
	if wall := d.at.Sub(earlier.at); wall > 0 {
		busy = float64(d.cpu-earlier.cpu) / float64(wall)
	}
	if ready := d.ready - earlier.ready; ready > 0 {
		waited = float64(d.long-earlier.long) / float64(ready)
	}
	return busy, waited
}
