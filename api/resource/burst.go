// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sync"
	"time"
)

// Many creations at once: more than burstSize in burstTime.
const (
	burstTime = 250 * time.Millisecond
	burstSize = 16
)

// burst finds out whether many checks are created at once. Starting their loops takes the
// processors that the answers to the creations need, so that the sweep does it afterwards.
// The zero value is ready, and safe for concurrent use.
type burst struct {
	mu     sync.Mutex
	began  time.Time // of the present period
	now    int       // creations in it
	before int       // and in the one before
}

// add counts a creation and reports whether it is one of many.
func (b *burst) add(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch since := at.Sub(b.began); {
	case since >= 2*burstTime:
		b.before, b.now, b.began = 0, 0, at
	case since >= burstTime:
		b.before, b.now, b.began = b.now, 0, b.began.Add(burstTime)
	}
	b.now++
	return max(b.now, b.before) > burstSize
}
