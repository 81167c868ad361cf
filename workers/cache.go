// SPDX-License-Identifier: Apache-2.0

package workers

import "go.temporal.io/sdk/worker"

// cachedWorkflows is how many workflows a process with a budget of turns keeps in memory.
// A loop takes about 30 KB there. One that is not kept is read from its history and replayed
// at each turn, which takes some milliseconds, and the budget bounds how often that is.
const cachedWorkflows = 2_000

// CachedWorkflows returns how many workflows a process keeps in memory, by its budget of turns
// a second. Without a budget (0) every loop has a turn for each slot, so that all are kept.
func CachedWorkflows(turnRate float64) int {
	if turnRate == 0 {
		return activitySlots
	}
	return cachedWorkflows
}

// sizeCache gives the SDK's cache its size. All workers of a process share one cache, which is
// made with the first of them, so every constructor of this package calls it with the same
// rate. The embedded Temporal has workers too, and takes the size when it starts.
func sizeCache(turnRate float64) { worker.SetStickyWorkflowCacheSize(CachedWorkflows(turnRate)) }
