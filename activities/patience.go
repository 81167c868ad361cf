package activities

import (
	"time"

	"vigil"
)

// A result that is no news waits for others to be stored with it: maxPatience, or the
// patiencePart-th part of the interval when that is less, so that the next slot is never
// late for it.
const (
	maxPatience  = 250 * time.Millisecond
	patiencePart = 8
)

// patience is how long a result may wait to be stored: not at all when it is the loop's
// first, or changes its health or which rules fire.
func (t *turnRun) patience(e *entry, result vigil.Result) time.Duration {
	state := t.state.For(e.Check.Type)
	next, _ := vigil.Evaluate(e.Rules, state, result)
	if state.Health != next.Health || !next.SameFiring(t.reported) {
		return 0
	}
	return min(maxPatience, e.Check.Interval/patiencePart)
}
