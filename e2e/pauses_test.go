// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// noticeable is the shortest pause that may delay a loop.
const noticeable = 200 * time.Millisecond

// pauses measures how long the machine kept processes from running during a drill.
// Limits on lateness are extended by it.
type pauses struct {
	mu    sync.Mutex
	worst time.Duration
	total time.Duration // of the noticeable ones
}

// wait lets time pass that the test needs, and says what for. A test that can name a
// condition waits for that with eventually instead.
func wait(t *testing.T, what string, d time.Duration) {
	t.Helper()
	if d > time.Second {
		t.Logf("waiting %v for %s", d.Round(100*time.Millisecond), what)
	}
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// notePauses measures from now to the end of the test how late a goroutine runs
// that wakes up every 10 ms.
func notePauses(t *testing.T) *pauses {
	t.Helper()
	const step = 10 * time.Millisecond
	p := &pauses{}
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		tick := time.NewTicker(step)
		defer tick.Stop()
		for before := time.Now(); ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			now := time.Now()
			p.note(now.Sub(before) - step)
			before = now
		}
	}()
	return p
}

func (p *pauses) note(pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worst = max(p.worst, pause)
	if pause > noticeable {
		p.total += pause
	}
}

// longest returns the longest pause.
func (p *pauses) longest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.worst
}

// slots returns how many slots a loop may have missed because of pauses. Half an
// interval is enough to miss one, since a turn also takes time.
func (p *pauses) slots(interval time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int((p.total + interval/2) / interval)
}

func (p *pauses) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("pauses of the machine up to %v, %v of noticeable ones",
		p.worst.Round(time.Millisecond), p.total.Round(time.Millisecond))
}
