// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
)

// query returns the handler of QueryState.
func (l *checkLoop) query(info *workflow.Info) func() (vigil.LoopState, error) {
	return func() (vigil.LoopState, error) {
		out := vigil.LoopState{
			State: l.in.State, Revision: l.in.Revision, Turns: l.turns, RunID: info.WorkflowExecution.RunID,
			TurnSlots: max(1, l.span()), TurnReason: l.reason(),
		}
		if l.in.Plan != nil {
			out.Next = l.in.Plan.Next
		}
		return out, nil
	}
}
