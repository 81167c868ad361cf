// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"os"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestMain runs several tests at once: they wait for agents that are cut off, killed and back.
func TestMain(m *testing.M) {
	timingtest.AtOnce(6)
	os.Exit(m.Run())
}
