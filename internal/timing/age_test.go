// SPDX-License-Identifier: Apache-2.0

package timing_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// TestAge takes the longer of the times by the monotonic and by the wall clock. Round(0)
// removes the monotonic reading, as in a time that comes from elsewhere.
func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, ago := range []time.Duration{0, time.Second, -time.Second} {
		if got := timing.Age(now, now.Add(-ago)); got != ago {
			t.Errorf("%v ago is %v", ago, got)
		}
		if got := timing.Age(now, now.Round(0).Add(-ago)); got != ago {
			t.Errorf("%v ago without a monotonic reading is %v", ago, got)
		}
	}
}
