// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"time"

	"github.com/vigil-monitor/vigil"
)

// A result that is no news waits for others to be stored with it: maxWriteDelay, or the
// writeDelayPart-th part of the time until the next slot when that is less, so that the
// next slot is never late for it.
const (
	maxWriteDelay  = 250 * time.Millisecond
	writeDelayPart = 8
)

// writeDelay is how long a result may wait to be stored: not at all when it is the loop's
// first, or changes its health or which rules fire.
func (t *turnRun) writeDelay(e *entry, result vigil.Result) time.Duration {
	state := t.state.For(e.Check.Type)
	next, _ := vigil.Evaluate(e.Rules, state, result)
	schedule, runs := e.Schedule(t.turn.Region)
	if !runs || state.Health != next.Health || !next.SameFiring(t.reported) {
		return 0
	}
	left := schedule.Next(result.Slot).Sub(t.Now())
	return max(0, min(maxWriteDelay, left/writeDelayPart))
}
