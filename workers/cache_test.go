// SPDX-License-Identifier: Apache-2.0

package workers_test

import (
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workers"
)

// cacheSize is the size that the SDK's next workflow cache gets. The SDK does not
// export it.
//
//go:linkname cacheSize go.temporal.io/sdk/internal.desiredWorkflowCacheSize
var cacheSize int //nolint:gochecknoglobals // the SDK's own

// TestCachedWorkflows tests that a process keeps all of its loops in memory where each has a
// turn for every slot, and some of them where a budget bounds their turns.
func TestCachedWorkflows(t *testing.T) { //nolint:paralleltest // looks at a variable of the whole process
	before := cacheSize
	defer func() { cacheSize = before }()
	for rate, want := range map[float64]int{0: 100_000, 0.5: 2000, 5: 2000} {
		if workers.NewSteps(workers.RegionOptions{Watcher: &activities.Watcher{}, TurnRate: rate}, nil); cacheSize != want {
			t.Errorf("with %v turns a second the cache has room for %d workflows, want %d", rate, cacheSize, want)
		}
	}
}
