// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// eventually waits until a condition holds that other goroutines bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	timingtest.Eventually(t, 30*time.Second, what, holds)
}
