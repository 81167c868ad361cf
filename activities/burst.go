// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"sync"
	"time"
)

const (
	// burstSize events of a process within burstWindow are a burst.
	burstSize   = 32
	burstWindow = 10 * time.Second
)

// burst counts the recent events of a kind in this process: then work that can wait is put
// off, since Temporal has enough to do. The zero value has counted none; it is safe for
// concurrent use.
type burst struct {
	mu    sync.Mutex
	times []time.Time // of the last burstWindow, oldest first
}

// add counts an event, and reports whether it is one of a burst.
func (b *burst) add(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := 0
	for old < len(b.times) && now.Sub(b.times[old]) >= burstWindow {
		old++
	}
	b.times = append(b.times[old:], now)
	return len(b.times) >= burstSize
}
