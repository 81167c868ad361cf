// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"strconv"
	"time"
)

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
	mostTurns  = 1000

	// leastStates and mostStates bound how many states the embedded Temporal keeps in memory, and statesOfTurn
	// is how many a turn a second touches until they leave its cache: two in each of 5 minutes.
	leastStates, mostStates = 6_000, 128_000
	statesOfTurn            = 2 * 5 * 60
)

// turnRate is a budget of turns a second; automatic: by the machine.
type turnRate struct {
	given     float64
	automatic bool
}

// UnmarshalText reads auto or a number.
func (r *turnRate) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*r = turnRate{automatic: true}
		return nil
	}
	given, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(given >= 0 && given <= mostTurns) {
		return fmt.Errorf("is %q; it must be auto, or a number from 0 to %d", text, mostTurns)
	}
	*r = turnRate{given: given}
	return nil
}

// everySlot is up to how many slots a second each is a turn; 0: always.
func (r turnRate) everySlot() float64 {
	if r.automatic {
		return everySlotRate
	}
	return r.given
}

// states is how many states of workflows the embedded Temporal keeps in memory: those of the turns of the last minutes,
// and room for incidents and deliveries. Without a bound those of 10,000 loops that start together took 190 MB. 0: all,
// where each slot is a turn.
func (r turnRate) states() int {
	rate := r.everySlot()
	if rate == 0 {
		return 0
	}
	return min(max(leastStates, int(rate*statesOfTurn)), mostStates)
}

// wide is how many turns a second there are beyond, on a machine with so many processors.
func (r turnRate) wide(processors int) float64 {
	if r.automatic {
		return max(leastTurns, min(turnShare*float64(processors)/turnCost.Seconds(), everySlotRate))
	}
	return r.given
}
