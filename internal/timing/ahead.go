// SPDX-License-Identifier: Apache-2.0

package timing

import "time"

// Ahead returns by how much a clock is ahead of another one that was read between sent and received, which are times of the first;
// it is negative where it is behind, and zero where the time that the answer took can explain the difference.
func Ahead(sent, received, other time.Time) time.Duration {
	half := received.Sub(sent) / 2
	difference := sent.Add(half).Round(0).Sub(other) // without the monotonic clock
	if difference.Abs() <= half {
		return 0
	}
	return difference
}
