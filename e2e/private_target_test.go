// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestWorkerWithoutAPIAddress: a separate worker cannot infer from the default of
// VIGIL_LISTEN that the API is reachable from this machine only. It refuses private
// targets unless the setting is given.
func TestWorkerWithoutAPIAddress(t *testing.T) {
	timingtest.Parallel(t)
	s := newCluster(t)
	s.seed(newTarget(t).URL, 1, 2*time.Second)
	eventually(t, "workers with the setting probe a private target", func() bool {
		return s.number("SELECT count(*) FROM results WHERE success") > 0
	})
	for _, worker := range s.workers {
		worker.stop()
	}
	launch(t, append(slices.Clone(s.env), "VIGIL_LISTEN="), "worker", "--region", clusterRegion)
	eventually(t, "a worker without it refuses and names the setting", func() bool {
		return s.number("SELECT count(*) FROM results WHERE NOT success AND error_message LIKE '%' || $1", egress.Setting) > 0
	})
}
