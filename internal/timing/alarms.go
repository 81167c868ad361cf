// SPDX-License-Identifier: Apache-2.0

package timing

import (
	"container/heap"
	"sync"
	"time"
)

// Alarms are many waits by one timer of the runtime. The runtime looks at all of its timers whenever one
// that was moved is over, some hundred times a second in a busy process, so tens of thousands that wait
// for minutes cost more than what they wait for. It is safe for concurrent use.
type Alarms struct {
	mu    sync.Mutex
	heap  alarmHeap
	timer *time.Timer // nil: no alarm was ever set
	fires time.Time   // when timer does, zero: it does not
}

// Alarm is one of Alarms.
type Alarm struct {
	of   *Alarms
	ring func()
	at   time.Time
	in   int // the heap, -1: it is not set
}

// NewAlarm returns an alarm that is not set. Rings are called one after the other and must not block, nor use
// an alarm of a.
func (a *Alarms) NewAlarm(ring func()) *Alarm { return &Alarm{of: a, ring: ring, in: -1} }

// Set makes the alarm ring once after d, at once when it is not positive, instead of when it was set to before.
func (x *Alarm) Set(d time.Duration) {
	a := x.of
	a.mu.Lock()
	defer a.mu.Unlock()
	x.at = present().Add(d)
	if x.in < 0 {
		heap.Push(&a.heap, x)
	} else {
		heap.Fix(&a.heap, x.in)
	}
	a.arm()
}

// Stop makes the alarm ring no more. When it returns, the alarm does not ring.
func (x *Alarm) Stop() {
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	if x.in >= 0 {
		heap.Remove(&x.of.heap, x.in) // the timer may fire for nothing, which is cheaper than to move it
	}
}

// arm sets the timer to the earliest alarm, unless it fires before. The caller holds mu.
func (a *Alarms) arm() {
	if len(a.heap) == 0 {
		return
	}
	first := a.heap[0].at
	if !a.fires.IsZero() && !first.Before(a.fires) {
		return
	}
	a.fires = first
	if d := first.Sub(present()); a.timer == nil {
		a.timer = time.AfterFunc(d, a.ringDue)
	} else {
		a.timer.Reset(d)
	}
}

func (a *Alarms) ringDue() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fires = time.Time{}
	for now := present(); len(a.heap) > 0 && !a.heap[0].at.After(now); {
		x, _ := heap.Pop(&a.heap).(*Alarm)
		x.ring()
	}
	a.arm()
}

// present is the time by the clock of the runtime's timers.
func present() time.Time {
	return time.Now() //nolint:forbidigo // as the timers do that it replaces
}

// alarmHeap are alarms in the order of their times (container/heap).
type alarmHeap []*Alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].in, h[j].in = i, j
}

// Push adds a *Alarm.
func (h *alarmHeap) Push(x any) {
	alarm, _ := x.(*Alarm)
	alarm.in = len(*h)
	*h = append(*h, alarm)
}

// Pop removes the last one.
func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last], x.in = nil, -1
	*h = (*h)[:last]
	return x
}
