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

// Repeat calls do until it returns nil, with a pause between two calls. When ctx ends first, it returns the last error of do.
func Repeat(ctx context.Context, pause time.Duration, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil || Sleep(ctx, pause) != nil {
			return err
		}
	}
}
