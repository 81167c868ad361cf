// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"container/heap"
	"context"
	"time"
)

// look is how often the scheduler looks at the clock at least, which may be set.
const look = time.Second

// job is one attempt to probe a check for a slot.
type job struct {
	*definition

	entry  *entry
	slot   time.Time
	failed *failedProbe // the attempts before; nil: this is the first
	slow   bool
}

// run begins each probe on its instant until ctx ends. A check that waits costs no goroutine.
func (c *checks) run(ctx context.Context, probe func(context.Context, *job)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		timer.Reset(c.begin(probe)) //nolint:contextcheck // a probe ends with what is known, not with the scheduler
	}
}

// begin starts what is due, and returns how long nothing else will be.
func (c *checks) begin(probe func(context.Context, *job)) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow(c.now())
	for len(c.due) > 0 && !c.stopped {
		e := c.due[0]
		if wait := e.at.Sub(c.now()); wait > 0 {
			return min(wait, look)
		}
		heap.Pop(&c.due)
		if e.failed == nil {
			// A newer slot may be due by now; those before it are missed.
			if newest := e.schedule.Due(e.slot.Add(-1), c.now()); newest.After(e.slot) {
				e.slot = newest
			}
		}
		e.running = true
		one := &job{definition: e.definition, entry: e, slot: e.slot, failed: e.failed, slow: e.slow}
		e.failed = nil
		c.flying.Add(1)
		ctx := c.probing
		go func() {
			defer c.flying.Done()
			probe(ctx, one)
		}()
	}
	return look
}

// follow takes a reading of the corrected clock. When that is before the last one, it was wrong then, and what waits by it
// would wait for as long as it was wrong. The caller has the lock.
func (c *checks) follow(now time.Time) {
	back := c.looked.Round(0).Sub(now.Round(0)) > clockStep
	if c.looked = now; !back {
		return
	}
	for _, e := range c.known {
		if e.running {
			continue
		}
		if e.failed != nil && e.failed.again.After(now.Add(e.retry.Delay)) {
			e.failed = nil
		}
		c.arm(e)
	}
}

// ended takes the end of an attempt: failed is repeated, and nil ends the slot.
func (c *checks) ended(one *job, failed *failedProbe) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := one.entry
	e.running = false
	if failed != nil && e.definition == one.definition {
		e.failed = failed
	} else {
		e.last = one.slot
	}
	c.arm(e)
	c.nudge()
}

// dueHeap has the checks that wait, the next one first.
type dueHeap []*entry

// Len is how many wait.
func (h dueHeap) Len() int { return len(h) }

// Less orders them by the time of their next probe.
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

// Swap exchanges two.
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push adds an *entry.
func (h *dueHeap) Push(x any) {
	e := x.(*entry) //nolint:forcetypeassert // see arm
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop removes the last one.
func (h *dueHeap) Pop() any {
	all := *h
	e := all[len(all)-1]
	all[len(all)-1] = nil
	e.index = -1
	*h = all[:len(all)-1]
	return e
}
