// SPDX-License-Identifier: Apache-2.0

package timing_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

func TestBurst(t *testing.T) {
	t.Parallel()
	b := &timing.Burst{Size: 17, Window: 250 * time.Millisecond}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		name           string
		pause          time.Duration
		rate, events   int
		first, inBurst int // the first event that is one of a burst, -1 without one, and how many are
	}{
		{"an even rate below it", 0, 20, 100, -1, 0},
		{"many at once", time.Second, 300, 600, 16, 584},
		{"fewer again", time.Second, 20, 20, -1, 0},
		{"just too few within the window", time.Second, 64, 128, -1, 0},
		{"just enough within the window", time.Second, 65, 130, 16, 114},
	} {
		at = at.Add(step.pause)
		first, n := -1, 0
		for i := range step.events {
			if b.Add(at) {
				if n++; first < 0 {
					first = i
				}
			}
			at = at.Add(time.Second / time.Duration(step.rate))
		}
		if first != step.first || n != step.inBurst {
			t.Errorf("%s: %d events were in a burst from event %d on, want %d from %d", step.name, n, first, step.inBurst, step.first)
		}
	}
	if since := b.Since(at); !at.Equal(since.Add(b.Window)) {
		t.Errorf("events count since %v at %v", since, at)
	}
	if b.Reached(16) || !b.Reached(17) {
		t.Error("16 events are a burst, or 17 are none")
	}
}
