// SPDX-License-Identifier: Apache-2.0

package timingtest

import (
	"fmt"
	"math"
	"os"
	"strconv"
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
	// plenty and enough are the parts of the time of the tests that must be left in a glance and in a look: of all of the
	// processors' time, but for what programs beside the tests take.
	plenty = 0.6
	enough = 0.3
	// besideVariable says which part of the processors' time, less than 1, programs take that run beside the tests on purpose, and
	// give way to others by their nice value, as the busy loops of make flaky. Without it none does.
	besideVariable = "VIGIL_TEST_BESIDE"
)

// Parallel lets a test run beside others, as its method of this name does, and begin only when the machine has time
// for it: when no other test runs that called it, six tenths of the processors' time were left for two seconds, or three
// tenths for five. It is for tests that start programs: on a slow machine fewer of them run at once, instead of all of
// them waiting for processors until the patience of one is over. Either a test calls it or its subtests do, never both.
//
// Time that programs took which give way to others (nice) counts as left, but for what [besideVariable] says. Where there is no
// /proc/stat, all time does.
func Parallel(t *testing.T) {
	t.Helper()
	t.Parallel()
	defer Waiting(t, "the machine has time for the test")()
	t.Cleanup(admission.enter())
}

// admission is the gate of all tests of a program.
var admission = newGate(watch, besideOf(os.Getenv(besideVariable))) //nolint:gochecknoglobals,forbidigo // as the processors are; for tests

// gate lets tests begin one after the other.
type gate struct {
	watch   func() (left func() float64) // left is the part of the processors' time that was left since watch
	beside  float64                      // the part of it that programs beside the tests take
	next    chan struct{}                // held by the test that is the next to begin
	running atomic.Int64
}

func newGate(watch func() func() float64, beside float64) *gate {
	return &gate{watch: watch, beside: beside, next: make(chan struct{}, 1)}
}

// besideOf returns the value of [besideVariable], 0 where it is none.
func besideOf(value string) float64 {
	part, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(part) || part < 0 || part >= 1 {
		return 0
	}
	return part
}

// ofTests returns the part of the time of the tests that was left, of the part of all time.
func (g *gate) ofTests(left float64) float64 { return (left - g.beside) / (1 - g.beside) }

// enter waits until a test may begin, and returns what must be called at its end.
func (g *gate) enter() (leave func()) {
	g.next <- struct{}{}
	defer func() { <-g.next }()
	for g.running.Load() > 0 {
		left := g.watch()
		if time.Sleep(glance); g.ofTests(left()) >= plenty {
			break
		}
		if time.Sleep(look - glance); g.ofTests(left()) >= enough {
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
