// SPDX-License-Identifier: Apache-2.0

package workflows

import "go.temporal.io/sdk/workflow"

// reset reports whether an operator has reset the workflow and no turn has compared its state
// since: the run is another one than the one as which its history began. Its state may then be
// older than what was reported.
func (l *checkLoop) reset(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.OriginalRunID != "" && info.OriginalRunID != info.WorkflowExecution.RunID && l.run != info.WorkflowExecution.RunID
}
