// SPDX-License-Identifier: Apache-2.0

package agentcmd

import (
	"context"
	"math"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// An agent uses as many processors as its work needs, since it is a guest on its machine. While one is idle, Go's
// scheduler wakes a thread there for each goroutine that becomes ready, which mostly finds nothing to do.
const (
	processorEvery = 500 * time.Millisecond
	// processorLoad is the part of its time that a processor is busy at most, on average.
	processorLoad = 0.7
	// processorPatience is how many times in a row fewer must be enough before some are given back.
	processorPatience = 20
)

// keepFew sets how many processors are used until ctx ends. GOMAXPROCS, when it is set, keeps its meaning.
func keepFew(ctx context.Context) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	p := processors{all: runtime.GOMAXPROCS(1), now: 1}
	for at, used := time.Now(), processTime(); timing.Sleep(ctx, processorEvery) == nil; {
		now, more := time.Now(), processTime()
		before := p.now
		if next := p.next((more - used).Seconds() / now.Sub(at).Seconds()); next != before {
			runtime.GOMAXPROCS(next)
		}
		at, used = now, more
	}
}

// processors decides how many processors are used.
type processors struct {
	all, now int
	most     int // that were needed since fewer than now are enough
	calm     int // how many times in a row
}

// next returns how many are needed, by how many were busy on average.
func (p *processors) next(busy float64) int {
	need := min(max(int(math.Ceil(busy/processorLoad)), 1), p.all)
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

// processTime is the CPU time that this process has used, 0 where that cannot be read.
func processTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
