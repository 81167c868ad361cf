// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestMain runs several tests at once: they wait for Postgres.
func TestMain(m *testing.M) {
	timingtest.AtOnce(4)
	os.Exit(m.Run())
}
