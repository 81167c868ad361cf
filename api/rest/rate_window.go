// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// RateWindow counts events of a key, such as an address, in windows of a fixed
// length, in this process alone: enough to slow down guessing and mailing.
type RateWindow struct {
	now    func() time.Time
	length time.Duration
	limit  int
	exempt func() bool // nil: never

	mu     sync.Mutex
	counts map[string]windowCount
}

type windowCount struct {
	n    int
	ends time.Time
}

// maxCounted bounds how many keys are remembered.
const maxCounted = 100_000

// NewRateWindow returns a RateWindow of limit events for each key and length; a
// limit of 0 admits everything.
func NewRateWindow(limit int, length time.Duration, now func() time.Time) *RateWindow {
	return &RateWindow{now: now, length: length, limit: limit, counts: make(map[string]windowCount)}
}

// Unless sets a condition under which nothing is counted, and returns the window.
func (w *RateWindow) Unless(exempt func() bool) *RateWindow {
	w.exempt = exempt
	return w
}

// Count counts an event. Beyond the limit it returns the seconds to wait, and 0
// otherwise.
func (w *RateWindow) Count(key string) (wait int64) {
	if w.limit == 0 || w.exempt != nil && w.exempt() {
		return 0
	}
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	count, ok := w.counts[key]
	if !ok && len(w.counts) >= maxCounted {
		w.forget(now)
	}
	if !now.Before(count.ends) {
		count = windowCount{ends: now.Add(w.length)}
	}
	if count.n >= w.limit {
		return CeilSeconds(count.ends.Sub(now))
	}
	count.n++
	w.counts[key] = count
	return 0
}

// forget drops the windows that have ended, or all of them when that is not
// enough.
func (w *RateWindow) forget(now time.Time) {
	for key, count := range w.counts {
		if !now.Before(count.ends) {
			delete(w.counts, key)
		}
	}
	if len(w.counts) >= maxCounted {
		clear(w.counts)
	}
}

// LimitAddress is a middleware that slows down an address which tries the
// operations that need no credential.
func (w *RateWindow) LimitAddress(ctx huma.Context, next func(huma.Context)) {
	if wait := w.Count(Network(RequestOf(ctx.Context()).Address)); wait > 0 {
		refuse(ctx, ErrTooMany("Too many requests from this address", wait))
		return
	}
	next(ctx)
}

// CeilSeconds returns d in whole seconds, rounded up.
func CeilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
