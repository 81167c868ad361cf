// SPDX-License-Identifier: Apache-2.0

package simulate

// kind says what happens at an event.
type kind uint8

const (
	atSlot    kind = iota // a loop waits for its next slot until now
	atTurn                // a loop begins its next turn
	atGroup               // a worker looks at the rows that wait to be stored
	atStored              // a transaction of a worker has ended
	atPlaces              // a worker looks at its places for probes
	atRenewal             // a worker renews its lease
	atSweep               // the sweep looks for lost workers
	atAdopted             // a worker has adopted some loops
	atLoss                // something is lost
	atReturn              // it is back
	atMeasure             // the measured time begins
)

// event is what happens at an instant to a loop or a worker. of is the one that it happens to, and turn counts what makes
// older events of it void: what a loop waited for on a worker that has lost it, for example.
type event struct {
	at   int64 // nanoseconds since the beginning
	of   uint32
	turn uint16
	kind kind
}

// events is a heap of four children a node, the earliest event first: there is one for each loop, and fewer levels are fewer
// lines of memory that each push and pop reads.
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
	all := *h
	i := len(all) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if all[parent].at <= e.at {
			break
		}
		all[i] = all[parent]
		i = parent
	}
	all[i] = e
}

func (h *events) pop() event {
	all := *h
	first, last := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	if len(all) == 0 {
		return first
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= len(all) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(all)); c++ {
			if all[c].at < all[least].at {
				least = c
			}
		}
		if all[least].at >= last.at {
			break
		}
		all[i] = all[least]
		i = least
	}
	all[i] = last
	return first
}
