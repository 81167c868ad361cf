// SPDX-License-Identifier: Apache-2.0

package timing

import "time"

// Age returns how long before now an instant was; it is negative for one to come. It
// compares both readings of the clock, of which the longer time counts: the monotonic one
// stands still while the machine is suspended, and the other one may be set back.
func Age(now, then time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}
