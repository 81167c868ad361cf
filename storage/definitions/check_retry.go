// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// retryRow are the columns of vigil.Check.Retry.
type retryRow struct {
	RetryAttempts int    `bun:"retry_attempts"`
	RetryDelayMS  int64  `bun:"retry_delay_ms"`
	RetryOn       string `bun:"retry_on"`
	RetryUnsafe   bool   `bun:"retry_unsafe"`
}

func retryColumns(r vigil.Retry) retryRow {
	return retryRow{RetryAttempts: r.Attempts, RetryDelayMS: pg.Milliseconds(r.Delay), RetryOn: string(r.Which()), RetryUnsafe: r.Unsafe}
}

func (r *retryRow) retry() vigil.Retry {
	return vigil.Retry{
		Attempts: r.RetryAttempts, Delay: pg.FromMilliseconds(r.RetryDelayMS), On: vigil.RetryOn(r.RetryOn), Unsafe: r.RetryUnsafe,
	}.Normal()
}
