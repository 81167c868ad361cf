// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Cache keeps results of the store for a short time. Concurrent calls for the same
// key share one query. Errors are not kept.
type Cache[V any] struct {
	now    func() time.Time
	ttl    time.Duration
	max    int
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]cached[V]
}

type cached[V any] struct {
	value V
	until time.Time
}

// NewCache returns a cache that keeps a value for ttl, and at most limit of them.
func NewCache[V any](ttl time.Duration, limit int, now func() time.Time) *Cache[V] {
	return &Cache[V]{now: now, ttl: ttl, max: limit, entries: make(map[string]cached[V])}
}

// Get returns the value of a key, calling load when it is not cached. What was
// true when load began is used for ttl and no longer.
func (c *Cache[V]) Get(ctx context.Context, key string, load func(context.Context) (V, error)) (V, error) {
	now := c.now()
	c.mu.Lock()
	entry, ok := c.entries[key]
	c.mu.Unlock()
	if ok && now.Before(entry.until) {
		return entry.value, nil
	}
	// One caller's departure must not fail the others that wait with it.
	shared, err, _ := c.flight.Do(key, func() (any, error) {
		began := c.now()
		value, err := load(context.WithoutCancel(ctx))
		if err == nil {
			c.put(key, cached[V]{value: value, until: began.Add(c.ttl)})
		}
		return value, err
	})
	value, _ := shared.(V)
	return value, err
}

// Holds reports whether a value of the key is cached.
func (c *Cache[V]) Holds(key string) bool {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[key]
	return ok && now.Before(entry.until)
}

// Keep caches a value from now on.
func (c *Cache[V]) Keep(key string, value V) {
	c.put(key, cached[V]{value: value, until: c.now().Add(c.ttl)})
}

func (c *Cache[V]) put(key string, entry cached[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.max {
		now := c.now()
		for k, e := range c.entries {
			if !now.Before(e.until) {
				delete(c.entries, k)
			}
		}
		if len(c.entries) >= c.max {
			clear(c.entries)
		}
	}
	c.entries[key] = entry
}

// Drop forgets every value that matches.
func (c *Cache[V]) Drop(matches func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.entries {
		if matches(e.value) {
			delete(c.entries, k)
		}
	}
}
