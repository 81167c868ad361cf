// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"time"

	"github.com/google/uuid"
)

// TurnActivity identifies the activity of a running turn in Temporal: every worker that knows it
// can complete it.
type TurnActivity struct {
	RunID      uuid.UUID // of the loop's workflow
	ActivityID string
	Ends       time.Time // when Temporal gives the turn up
}

// TurnHolder says who has the turn of a loop, as Temporal knows it.
type TurnHolder struct {
	Running bool   // the workflow of the loop
	Worker  string // that Temporal gave the turn to; empty while none has it
	// ActivityID and RunID name the turn.
	ActivityID string
	RunID      uuid.UUID
}

// Runs returns the worker that runs the turn of a loop: the one that Temporal gave it to, or the
// one that has adopted it. Empty: none has it yet.
func (h TurnHolder) Runs(loop *Loop) string {
	if h.Worker != "" && h.ActivityID == loop.Turn.ActivityID && h.RunID == loop.Turn.RunID {
		return loop.Worker
	}
	return h.Worker
}

// OpenTurn is a turn that Temporal waits for and whose worker is gone.
type OpenTurn struct {
	TurnActivity

	CheckID uuid.UUID
	Region  string
	// Revision of the check that Temporal has accepted for the loop.
	Revision int64
	Slots    int // that the turn covers, 0 when that is not known
}
