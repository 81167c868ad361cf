// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"go.temporal.io/sdk/client"
)

// keptFigures keeps what a handler makes for labels and names, which are few: each result would have it made again.
type keptFigures struct {
	client.MetricsHandler

	tagged, counters, timers sync.Map // by labels, and by name
}

// WithTags returns the handler of labels.
func (f *keptFigures) WithTags(tags map[string]string) client.MetricsHandler {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		key.WriteString(name + "\x00" + tags[name] + "\x00")
	}
	return kept(&f.tagged, key.String(), func() client.MetricsHandler {
		return &keptFigures{MetricsHandler: f.MetricsHandler.WithTags(tags)}
	})
}

// Counter returns the counter of a name.
func (f *keptFigures) Counter(name string) client.MetricsCounter {
	return kept(&f.counters, name, func() client.MetricsCounter { return f.MetricsHandler.Counter(name) })
}

// Timer returns the timer of a name.
func (f *keptFigures) Timer(name string) client.MetricsTimer {
	return kept(&f.timers, name, func() client.MetricsTimer { return f.MetricsHandler.Timer(name) })
}

// kept returns what is kept for a key, and makes it when there is none.
func kept[T any](in *sync.Map, key string, make func() T) T {
	one, ok := in.Load(key)
	if !ok {
		one, _ = in.LoadOrStore(key, make())
	}
	of, _ := one.(T)
	return of
}
