// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"strconv"

	"github.com/vigil-monitor/vigil/internal/pace"
)

// Bounds of a budget of turns.
const (
	mostTurns = 1000

	// leastStates and mostStates bound how many states the embedded Temporal keeps in memory.
	leastStates, mostStates = 6_000, 128_000
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
		rate, _ := pace.AutomaticRates(1)
		return rate
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
	return min(max(leastStates, int(rate*pace.StatesOfTurn)), mostStates)
}

// wide is how many turns a second there are beyond, on a machine with so many processors.
func (r turnRate) wide(processors int) float64 {
	if r.automatic {
		_, wide := pace.AutomaticRates(processors)
		return wide
	}
	return r.given
}
