// SPDX-License-Identifier: Apache-2.0

package workers

import "go.temporal.io/sdk/worker"

// cachedWorkflows is how many workflows a process with a budget of turns keeps in memory.
// A loop takes about 30 KB there. One that is not kept is read from its history and replayed
// at each turn, which takes some milliseconds, and the budget bounds how often that is.
const cachedWorkflows = 2_000

// KeepWorkflows sets how many workflows the workers of this process keep in memory together,
// by its budget of turns a second. Without a budget every loop has a turn for each slot, so
// that all are kept. Call it before the first worker is created.
func KeepWorkflows(turnRate float64) {
	size := cachedWorkflows
	if turnRate == 0 {
		size = activitySlots
	}
	worker.SetStickyWorkflowCacheSize(size)
}
