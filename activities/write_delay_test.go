// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
)

// TestWriteDelay tests which results may wait to be stored with others.
func TestWriteDelay(t *testing.T) {
	t.Parallel()
	const calm = 250 * time.Millisecond
	for fact, test := range map[string]struct {
		define func(*vigil.Definition)
		down   []bool        // what each probe finds
		takes  time.Duration // each
		want   []time.Duration
	}{
		"TheFirstResultAndAChangeOfHealthGoAtOnce": {
			nil, []bool{false, false, true, true, false, false}, 0, []time.Duration{0, calm, 0, calm, 0, calm},
		},
		"AResultThatMakesARuleFireGoesAtOnce": {
			firing(vigil.Condition{FailureThreshold: 3}), []bool{true, true, true, true}, 0, []time.Duration{0, calm, 0, calm},
		},
		"AShortIntervalHasAShortDelay": {
			func(d *vigil.Definition) { d.Check.Interval = time.Second }, []bool{false, false}, 0, []time.Duration{0, 125 * time.Millisecond},
		},
		"ASlowProbeHasAShortDelay": {
			func(d *vigil.Definition) { d.Check.Interval = time.Second },
			[]bool{false, false},
			920 * time.Millisecond,
			[]time.Duration{0, 10 * time.Millisecond},
		},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatchFixture(t)
				def := w.define(test.define)
				state := vigil.State{}
				for _, down := range test.down {
					w.observe = takes(test.takes)
					if down {
						w.observe = fails
					}
					state = w.must(w.watch(turnOf(def, state))).State
				}
				var got []time.Duration
				for _, row := range w.written {
					got = append(got, row.MaxDelay)
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("delays %v, want %v", got, test.want)
				}
			})
		})
	}
}
