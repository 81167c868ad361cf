// SPDX-License-Identifier: Apache-2.0

package agentcmd

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// An agent is small: a burst of probes gives its memory back. GOMEMLIMIT wins.
const (
	// memoryLimit is for an agent that has little to do; what is in use counts memoryUse times, since
	// with a limit that is too low nothing but collection would be done.
	memoryLimit = 20 << 20
	memoryUse   = 3
	memoryEvery = 2 * time.Second
)

// keepSmall sets the limits of memory, by what is in use, until ctx ends.
func keepSmall(ctx context.Context) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(memoryLimit)
	used := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	for timing.Sleep(ctx, memoryEvery) == nil {
		metrics.Read(used)
		inUse := used[0].Value.Uint64() + used[1].Value.Uint64()
		debug.SetMemoryLimit(max(memoryLimit, memoryUse*int64(inUse))) //nolint:gosec // far below the largest number
	}
}
