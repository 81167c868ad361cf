// SPDX-License-Identifier: Apache-2.0

package timing

import (
	"context"
	"time"
)

// Sleep waits for d. It returns early with the error of ctx when ctx ends first, and
// at once when d is not positive.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
