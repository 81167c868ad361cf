// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
)

const (
	// loadTTL is how long the load of the regions is used before it is read again.
	loadTTL = time.Second
	// overloadRetry is the Retry-After of a refused request: a region is calm after ten
	// seconds without late slots.
	overloadRetry = 15
)

// LoadStore reads how well the workers keep up.
type LoadStore interface {
	// OverloadedRegions returns the lateness of the slots of each region whose workers
	// are overloaded.
	OverloadedRegions(ctx context.Context, silence time.Duration) (map[string]time.Duration, error)
}

// Loads knows which regions are overloaded. What adds load there is refused, so that the
// slots that are due do not become later; what takes load away, and everything else, goes on.
type Loads struct {
	store LoadStore
	cache *Cache[map[string]time.Duration]
}

// NewLoads returns what the workers of each region can probe.
func NewLoads(store LoadStore, now func() time.Time) *Loads {
	return &Loads{store: store, cache: NewCache[map[string]time.Duration](loadTTL, 1, now)}
}

// Overloaded returns the overloaded regions with the lateness of their slots; none when
// they cannot be read.
func (l *Loads) Overloaded(ctx context.Context) map[string]time.Duration {
	regions, err := l.cache.Get(ctx, "", func(ctx context.Context) (map[string]time.Duration, error) {
		return l.store.OverloadedRegions(ctx, LeaseSilence)
	})
	if err != nil {
		return nil
	}
	return regions
}

// Refuse returns the error for a request that adds load to regions of which one is
// overloaded, else nil.
func Refuse(overloaded map[string]time.Duration, regions ...string) error {
	var late []string
	for _, region := range regions {
		if _, ok := overloaded[region]; ok {
			late = append(late, region)
		}
	}
	if len(late) == 0 {
		return nil
	}
	return &vigil.Error{
		Code: vigil.CodeUnavailable,
		Message: fmt.Sprintf("Probing in %s is late, so no load can be added there. Try again in %d seconds.",
			strings.Join(late, ", "), overloadRetry),
		Details: map[string]any{"overloaded_regions": late, vigil.RetryDetail: overloadRetry},
	}
}

// AddedLoad returns the regions of a check that have more to probe after a change.
func AddedLoad(before, after *vigil.Check) []string {
	switch {
	case !after.Enabled:
		return nil
	case !before.Enabled || after.Interval < before.Interval:
		return after.Regions
	}
	return slices.DeleteFunc(slices.Clone(after.Regions), func(region string) bool { return slices.Contains(before.Regions, region) })
}

// DescribeLoad says in words which regions are overloaded, for /ready.
func DescribeLoad(overloaded map[string]time.Duration) string {
	if len(overloaded) == 0 {
		return "ok"
	}
	var parts []string
	for _, region := range slices.Sorted(maps.Keys(overloaded)) {
		parts = append(parts, fmt.Sprintf("%s (%.1f s)", region, overloaded[region].Seconds()))
	}
	return "overloaded, slots are late: " + strings.Join(parts, ", ")
}

// LeaseSilence is how long a worker may be silent before its regions
// count as offline.
const LeaseSilence = 3 * time.Second
