// SPDX-License-Identifier: Apache-2.0

package workflows

import "strconv"

// Sentinel is the type of the sentinels, and the task queue that they are started on. No
// worker polls it: a sentinel exists, and does nothing.
const Sentinel = "vigil-sentinel"

// SignalEpoch is, with an epoch behind it, the name of the signal by which that epoch is
// written to a sentinel. A payload would be encrypted, and the history is read without workers.
const SignalEpoch = "epoch/"

// SignalMark is, with a random text behind it, the name of a signal to a sentinel that has no epoch: what is read afterwards
// and has it is not older.
const SignalMark = "mark/"

// SentinelID returns the ID of the sentinel of a generation of Temporal's store.
func SentinelID(generation int64) string {
	return "vigil/sentinel/" + strconv.FormatInt(generation, 10)
}
