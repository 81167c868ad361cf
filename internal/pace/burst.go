// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"sync"
	"time"
)

const (
	// BurstSize events of a process within burstWindow are a burst.
	BurstSize   = 32
	burstWindow = 10 * time.Second
)

// Burst counts the recent events of a kind in this process: in a burst, work that can wait is
// put off, since Temporal has enough to do. The zero value has counted none; it is safe for
// concurrent use.
type Burst struct {
	mu    sync.Mutex
	times []time.Time // of the last burstWindow, oldest first
}

// Add counts an event, and reports whether it is one of a burst.
func (b *Burst) Add(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := 0
	for old < len(b.times) && now.Sub(b.times[old]) >= burstWindow {
		old++
	}
	b.times = append(b.times[old:], now)
	return len(b.times) >= BurstSize
}
