// SPDX-License-Identifier: Apache-2.0

package timingtest

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// glance and look are how long the machine is watched before a test begins beside others: look is as long as the
	// programs of the test before it take to start.
	glance = 2 * time.Second
	look   = 5 * time.Second
	// plenty and enough are the parts of the processors' time that must be left in a glance and in a look.
	plenty = 0.6
	enough = 0.3
)

// Parallel lets a test run beside others, as its method of this name does, and begin only when the machine has time
// for it: when no other test runs that called it, six tenths of the processors' time were left for two seconds, or three
// tenths for five. It is for tests that start programs: on a slow machine fewer of them run at once, instead of all of
// them waiting for processors until the patience of one is over. Either a test calls it or its subtests do, never both.
//
// Time that programs took which give way to others (nice) counts as left. Where there is no /proc/stat, all time does.
func Parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	defer Waiting(t, "the machine has time for the test")()
	t.Cleanup(admission.enter())
}

// admission is the gate of all tests of a program.
var admission = newGate(watch) //nolint:gochecknoglobals // as the processors are

// gate lets tests begin one after the other.
type gate struct {
	watch   func() (left func() float64) // left is the part of the processors' time that was left since watch
	next    chan struct{}                // held by the test that is the next to begin
	running atomic.Int64
}

func newGate(watch func() func() float64) *gate {
	return &gate{watch: watch, next: make(chan struct{}, 1)}
}

// enter waits until a test may begin, and returns what must be called at its end.
func (g *gate) enter() (leave func()) {
	g.next <- struct{}{}
	defer func() { <-g.next }()
	for g.running.Load() > 0 {
		left := g.watch()
		if time.Sleep(glance); left() >= plenty {
			break
		}
		if time.Sleep(look - glance); left() >= enough {
			break
		}
	}
	g.running.Add(1)
	return func() { g.running.Add(-1) }
}

// watch looks at the machine from now on.
func watch() (left func() float64) {
	leftBefore, allBefore := ticksNow()
	return func() float64 {
		leftAfter, allAfter := ticksNow()
		if allAfter == allBefore {
			return 1
		}
		return float64(leftAfter-leftBefore) / float64(allAfter-allBefore)
	}
}

// ticksNow are the ticks until now; none where there is no /proc/stat.
func ticksNow() (left, all uint64) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	return ticks(string(stat))
}

// ticks returns how much of all processors' time since the machine's start was left for others, and all of it, by the
// first line of /proc/stat (proc_stat(5)).
func ticks(stat string) (left, all uint64) {
	first, _, _ := strings.Cut(stat, "\n")
	var user, nice, system, idle, iowait, irq, softirq, steal uint64
	if _, err := fmt.Sscanf(first, "cpu %d %d %d %d %d %d %d %d",
		&user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal); err != nil {
		return 0, 0
	}
	left = nice + idle + iowait
	return left, left + user + system + irq + softirq + steal
}
