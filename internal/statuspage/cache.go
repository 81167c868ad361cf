// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/vigil-monitor/vigil"
)

// maxCached bounds the entries of a cache.
const maxCached = 2000

// cache keeps what is read for the public. Readers who come at the same time share one
// reading, and while the store does not answer they get what was read last.
type cache[V any] struct {
	now func() time.Time
	// fresh is how long an entry is used, and stale how long it is used after that while it
	// cannot be read again.
	fresh, stale time.Duration
	flight       singleflight.Group

	mu      sync.Mutex
	entries map[string]cached[V]
}

type cached[V any] struct {
	value V
	until time.Time // it is fresh
}

func newCache[V any](fresh, stale time.Duration, now func() time.Time) *cache[V] {
	return &cache[V]{now: now, fresh: fresh, stale: stale, entries: make(map[string]cached[V])}
}

// get returns the value of a key and for how long it is fresh.
func (c *cache[V]) get(ctx context.Context, key string, read func(context.Context) (V, error)) (V, time.Duration, error) {
	if entry, ok := c.entry(key); ok && c.now().Before(entry.until) {
		return entry.value, entry.until.Sub(c.now()), nil
	}
	// One reader's departure must not fail the others.
	shared, err, _ := c.flight.Do(key, func() (any, error) {
		if entry, ok := c.entry(key); ok && c.now().Before(entry.until) {
			return entry, nil // read since this reader looked
		}
		began := c.now()
		value, err := read(context.WithoutCancel(ctx))
		entry := cached[V]{value: value, until: began.Add(c.fresh)}
		switch {
		case err == nil:
			c.keep(key, entry)
			return entry, nil
		case vigil.ErrorCode(err) == vigil.CodeNotFound:
			c.drop(key)
			return entry, err
		}
		if last, ok := c.entry(key); ok && c.now().Before(last.until.Add(c.stale)) {
			return last, nil
		}
		return entry, err
	})
	entry, _ := shared.(cached[V])
	return entry.value, max(0, entry.until.Sub(c.now())), err
}

func (c *cache[V]) entry(key string) (cached[V], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[key]
	return entry, ok
}

func (c *cache[V]) keep(key string, entry cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxCached {
		now := c.now()
		for k, e := range c.entries {
			if !now.Before(e.until) {
				delete(c.entries, k)
			}
		}
		if len(c.entries) >= maxCached {
			clear(c.entries)
		}
	}
	c.entries[key] = entry
}

func (c *cache[V]) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}
