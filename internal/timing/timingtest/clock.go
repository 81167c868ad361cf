// SPDX-License-Identifier: Apache-2.0

package timingtest

import (
	"sync"
	"time"
	"unsafe"
)

// Clock is a clock that a test moves. It is safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that stands at an instant.
func NewClock(at time.Time) *Clock { return &Clock{at: at} }

// Now returns where the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Set moves the clock to an instant.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// Advance moves the clock ahead.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// Wall returns a time as the clock of a machine shows it that is ahead by a number of seconds, or behind: unlike
// time.Time.Add it leaves the monotonic reading as it is, as when a clock is set while a program runs.
func Wall(at time.Time, ahead int64) time.Time {
	// The seconds lie above 30 bits of nanoseconds in the first word of a time with a monotonic reading (the
	// comment of time.Time).
	wall := (*uint64)(unsafe.Pointer(&at)) //nolint:gosec // the only way to such a time
	*wall += uint64(ahead) << 30           //nolint:gosec // wraps around for a clock that is behind
	return at
}
