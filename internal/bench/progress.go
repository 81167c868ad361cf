// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// progressKey is the key of the function of a context that shows what a measurement is at.
type progressKey struct{}

// WithProgress returns a context with which a measurement calls show with what it is at.
func WithProgress(ctx context.Context, show func(what string)) context.Context {
	return context.WithValue(ctx, progressKey{}, show)
}

// at shows what a measurement is at.
func at(ctx context.Context, format string, args ...any) {
	if show, ok := ctx.Value(progressKey{}).(func(string)); ok {
		show(fmt.Sprintf(format, args...))
	}
}

// readTwice reads figures, waits for a time and reads them again. took is the time between the
// ends of both readings.
func readTwice[T any](ctx context.Context, span time.Duration, read func() (T, error)) (before, after T, took time.Duration, err error) {
	if before, err = read(); err != nil {
		return before, after, 0, err
	}
	began := time.Now()
	at(ctx, "measuring for %s", span)
	if err := timing.Sleep(ctx, span); err != nil {
		return before, after, 0, err
	}
	after, err = read()
	return before, after, time.Since(began), err
}
