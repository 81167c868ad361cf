// SPDX-License-Identifier: Apache-2.0

package agentcmd

import "testing"

// An agent takes more processors at once when it needs them, and gives them back after a while.
func TestProcessors(t *testing.T) {
	t.Parallel()
	p := processors{all: 8, now: 1}
	for i, want := range []int{1, 3, 8} {
		if got := p.next([]float64{0.5, 1.9, 7.5}[i]); got != want {
			t.Errorf("look %d: %d processors, want %d", i, got, want)
		}
	}
	for range processorPatience - 1 {
		p.next(0.1)
	}
	if p.now != 8 {
		t.Errorf("%d processors before the time is over", p.now)
	}
	if got := p.next(0.8); got != 2 {
		t.Errorf("%d processors, want what was needed meanwhile, 2", got)
	}
}
