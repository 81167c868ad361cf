// SPDX-License-Identifier: Apache-2.0

package pace

import "time"

// The budget of turns of a process that was given none.
const (
	// everySlotRate is how many slots a second its loops have at most while each is a turn of its own.
	everySlotRate = 5
	// turnCost is the CPU time of a turn, in Vigil, Temporal and Postgres together: docs/benchmarks.md.
	turnCost = 14 * time.Millisecond
	// turnShare is the part of the machine's CPU time that turns take beyond, and leastTurns how many a second there
	// are at least.
	turnShare  = 0.01
	leastTurns = 0.2
)

// StatesOfTurn is how many states of workflows a turn a second touches until they leave Temporal's cache: two in each of 5
// minutes.
const StatesOfTurn = 2 * 5 * 60

// AutomaticRates are the rates of NewBudget for a process that was given none, on a machine with so many processors:
// up to how many slots a second each is a turn, and how many turns a second there are beyond.
func AutomaticRates(processors int) (rate, wide float64) {
	return everySlotRate, max(leastTurns, min(turnShare*float64(processors)/turnCost.Seconds(), everySlotRate))
}

// A result that is no news waits for others to be stored with it: maxWriteDelay, or the
// writeDelayPart-th part of the time until the next slot when that is less, so that the
// next slot is never late for it.
const (
	maxWriteDelay  = 250 * time.Millisecond
	writeDelayPart = 8
)

// WriteDelay returns how long a result that is no news may wait to be stored, when so much time is left until the next
// slot of its loop; 0 when none is left.
func WriteDelay(left time.Duration) time.Duration {
	return max(0, min(maxWriteDelay, left/writeDelayPart))
}
