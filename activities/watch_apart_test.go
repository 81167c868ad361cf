// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/vigil-monitor/vigil"
)

// TestWatchRunsProbesApart tests that a probe does not run on the goroutine of its turn,
// which would keep the stack that the probe needs.
func TestWatchRunsProbesApart(t *testing.T) {
	t.Parallel()

	t.Run("OnAnotherStack", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			w.observe = func(context.Context) vigil.Observation {
				stack := make([]byte, 1<<14)
				stack = stack[:runtime.Stack(stack, false)]
				if bytes.Contains(stack, []byte(").Watch(")) {
					t.Errorf("the probe runs on the stack of its turn:\n%s", stack)
				}
				return vigil.Observation{Success: true}
			}
			w.must(w.watch(turnOf(w.define(nil), vigil.State{})))
			if len(w.runs) != 1 {
				t.Fatalf("%d probes", len(w.runs))
			}
		})
	})

	t.Run("AndItsPanicFailsTheTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			w.observe = func(context.Context) vigil.Observation { panic("a fault of the probe") }
			_, err := w.watch(turnOf(w.define(nil), vigil.State{}))
			if err == nil || !strings.Contains(err.Error(), "a fault of the probe") {
				t.Errorf("the turn ended with %v", err)
			}
		})
	})
}
