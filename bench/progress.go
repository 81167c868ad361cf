package bench

import (
	"context"
	"fmt"
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
