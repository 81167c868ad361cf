// SPDX-License-Identifier: Apache-2.0

package timing_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// TestAhead compares a clock with one that was read while an answer took four seconds.
func TestAhead(t *testing.T) {
	t.Parallel()
	sent := time.Now()
	received := sent.Add(4 * time.Second)
	for _, test := range []struct{ other, want time.Duration }{
		{2 * time.Second, 0},
		{0, 0},
		{4 * time.Second, 0},
		{-time.Millisecond, 2*time.Second + time.Millisecond},
		{5 * time.Second, -3 * time.Second},
		{-88 * time.Second, 90 * time.Second},
	} {
		if got := timing.Ahead(sent, received, sent.Add(test.other)); got != test.want {
			t.Errorf("the other clock is read %v after the question: %v ahead, want %v", test.other, got, test.want)
		}
	}
}
