// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// refused is a probe of a port on which nothing listens, which has evidence where it is wanted.
func refused(t *testing.T) func(context.Context) vigil.Observation {
	t.Helper()
	parsed, err := probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})).Parse(vigil.TypeMultistep, []byte(`{"steps": [
		{"name": "connect", "type": "tcp", "config": {"host": "127.0.0.1", "port": 1}}]}`), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Run
}

// TestWatchEvidence holds that turns keep evidence as the state of their loop decides.
func TestWatchEvidence(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, change func(*vigil.Definition)) (kept string, steps []string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(change)
			w.observe = refused(t)
			var state vigil.State
			for range 6 {
				state = w.must(w.watch(turnOf(def, state))).State
			}
			for _, row := range w.rows {
				if row.Evidence == nil {
					kept += "."
					continue
				}
				kept, steps = kept+"x", append(steps, row.Evidence.Step)
			}
		})
		return kept, steps
	}
	t.Run("OfTheFirstThreeFailures", func(t *testing.T) {
		t.Parallel()
		if kept, steps := run(t, nil); kept != "xxx..." || steps[0] != "connect" {
			t.Errorf("kept %s of %q", kept, steps)
		}
	})
	t.Run("NotWhereTheCheckSwitchesItOff", func(t *testing.T) {
		t.Parallel()
		if kept, _ := run(t, func(d *vigil.Definition) { d.Check.NoEvidence = true }); kept != "......" {
			t.Errorf("kept %s", kept)
		}
	})
}
