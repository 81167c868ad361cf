package e2e_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// noticeable is a pause that a loop may feel.
const noticeable = 200 * time.Millisecond

// pauses are those of the machine during a drill. A platform whose processes are
// not run cannot be on time, so what is judged by the clock is judged less what
// the machine took.
type pauses struct {
	mu    sync.Mutex
	worst time.Duration
	total time.Duration // of the noticeable ones
}

// notePauses notes the pauses from now to the end of the test: by how much a
// goroutine that only wants to go on every 10 ms was held up.
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

// longest is what the machine may have added to a time.
func (p *pauses) longest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.worst
}

// slots is how many slots the machine may have cost a loop. Half an interval is
// enough for one, since a turn takes a part of it too.
func (p *pauses) slots(interval time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int((p.total + interval/2) / interval)
}

func (p *pauses) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("pauses of the machine up to %v, %v of noticeable ones", p.worst.Round(time.Millisecond), p.total.Round(time.Millisecond))
}
