// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"context"
	"log/slog"
	"sync"
)

// Value is what files say. It is safe for concurrent use.
//
// Files that belong together, such as a certificate and its key, are not replaced at one instant. While they cannot be used,
// what they said last goes on, and one warning says why.
type Value[T any] struct {
	what string
	log  *slog.Logger
	read func() (T, error)

	mu      sync.Mutex
	last    T
	failing bool
}

// New reads a value, which must be readable now; read must say all that is wrong with the files. what names them in the
// warning, such as "the certificates for Temporal".
func New[T any](what string, log *slog.Logger, read func() (T, error)) (*Value[T], error) {
	first, err := read()
	if err != nil {
		return nil, err
	}
	return &Value[T]{what: what, log: log, read: read, last: first}, nil
}

// Get reads the files again and returns what they say, or what they said last where they cannot be used now.
func (v *Value[T]) Get(ctx context.Context) T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now, err := v.read()
	if err != nil {
		if !v.failing {
			v.log.WarnContext(ctx, "what is on the disk cannot be used now: what was there before goes on", "files", v.what, "error", err)
		}
		v.failing = true
		return v.last
	}
	v.last, v.failing = now, false
	return now
}
