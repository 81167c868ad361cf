// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"time"

	"github.com/vigil-monitor/vigil"
)

// retryRow are the columns of vigil.Check.Retry.
type retryRow struct {
	RetryAttempts int    `bun:"retry_attempts"`
	RetryDelayMS  int64  `bun:"retry_delay_ms"`
	RetryOn       string `bun:"retry_on"`
	RetryUnsafe   bool   `bun:"retry_unsafe"`
}

func retryColumns(r vigil.Retry) retryRow {
	return retryRow{RetryAttempts: r.Attempts, RetryDelayMS: milliseconds(r.Delay), RetryOn: string(r.Which()), RetryUnsafe: r.Unsafe}
}

func (r *retryRow) retry() vigil.Retry {
	return vigil.Retry{
		Attempts: r.RetryAttempts, Delay: fromMilliseconds(r.RetryDelayMS), On: vigil.RetryOn(r.RetryOn), Unsafe: r.RetryUnsafe,
	}.Normal()
}

// expectedDeadline is the deadline of a loop without a result at the present definition.
// The check type knows how long an attempt takes; here it is the longest timeout.
func expectedDeadline(check *vigil.Check) time.Duration {
	return max(defaultDeadline, min(check.Retry.Deadline(defaultDeadline), check.Interval))
}
