// SPDX-License-Identifier: Apache-2.0

package timing

import (
	"sync"
	"time"
)

// Burst finds whether many things of a kind happen at once: Size of them or more, at least one,
// within Window. In a burst, work that can wait is put off. Events of this process are counted with
// Add; where many processes have them, and a database counts them, Since says from when on, and
// Reached judges the number. It is safe for concurrent use.
type Burst struct {
	Size   int
	Window time.Duration

	mu   sync.Mutex
	last []time.Time // the newest events, Size of them at most, oldest first
}

// Add counts an event, and reports whether it is one of a burst.
func (b *Burst) Add(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.last); n > 0 && n >= b.Size {
		b.last = append(b.last[:0], b.last[1:]...)
	}
	b.last = append(b.last, now)
	return b.Reached(len(b.last)) && b.last[0].After(b.Since(now))
}

// Since is the instant after which events count.
func (b *Burst) Since(now time.Time) time.Time { return now.Add(-b.Window) }

// Reached reports whether as many events since then are a burst.
func (b *Burst) Reached(events int) bool { return events >= b.Size }
