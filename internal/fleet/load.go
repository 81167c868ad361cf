// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// Load is how well a worker process keeps up with its slots.
type Load struct {
	// Lateness is how late the slots of the last ten seconds were probed, at the 90th
	// percentile.
	Lateness time.Duration
	// Overloaded: the slots were more than a second late for ten seconds. More load
	// would make them later.
	Overloaded bool
	Since      time.Time // of the overload; zero without one
}
