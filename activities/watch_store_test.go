// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestWatchStore tests what a turn stores, and how it handles the stored row.
func TestWatchStore(t *testing.T) {
	t.Parallel()

	t.Run("EvaluatesTheStoredRowWhenTheSlotHasOne", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			slot := scheduleOf(def).Next(state.Slot)
			w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: slot})
			result := w.must(w.watch(turnOf(def, state)))
			if result.State.Health != vigil.Unhealthy || result.State.Failures != 1 || result.End != vigil.TurnChanged {
				t.Errorf("evaluated its own probe: %+v", result)
			}
		})
	})

	t.Run("StoresNothingWhenTheMachineCannotRunTheCheck", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			w.observe = func(context.Context) vigil.Observation {
				return vigil.Observation{Unavailable: true, Error: "the machine forbids it"}
			}
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			w.must(w.watch(turnOf(def, state)))
			if len(w.rows) > 0 || len(w.runs) != 2 || !w.runs[1].Equal(scheduleOf(def).Next(def.Starts[region])) {
				t.Errorf("%d rows after probes at %v, want none, and each slot tried once", len(w.rows), w.runs)
			}
		})
	})

	t.Run("FailsWhenTheResultCannotBeStored", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			w.writeErr = errors.New("postgres is down")
			_, err := w.watch(turnOf(def, vigil.State{}))
			if err == nil || !strings.Contains(err.Error(), "store the result: postgres is down") {
				t.Errorf("error %v, want that of the store", err)
			}
			if len(w.runs) != 1 {
				t.Errorf("%d probes, want 1: the slot is not probed again in the same turn", len(w.runs))
			}
		})
	})

	t.Run("EndsTheLoopOnNotFoundOnly", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for _, tt := range []struct {
				code vigil.Code
				gone bool
			}{{vigil.CodeNotFound, true}, {vigil.CodeConflict, false}, {vigil.CodeUnavailable, false}} {
				w := newWatchFixture(t)
				def := w.define(nil)
				w.writeErr = vigil.Errorf(tt.code, "the row was not written")
				result, err := w.watch(turnOf(def, vigil.State{}))
				if gone := err == nil && result.End == vigil.TurnGone; gone != tt.gone {
					t.Errorf("%s: end %q, error %v", tt.code, result.End, err)
				}
				if tt.gone && result.Revision != def.Check.Revision {
					t.Errorf("it ended with revision %d", result.Revision)
				}
			}
		})
	})
}

// TestWatchStoredRow tests what a turn stores.
func TestWatchStoredRow(t *testing.T) {
	t.Parallel()

	t.Run("StoresTheProbeWithItsWorkerAndDeadline", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t, func(o *activities.WatcherOptions) { o.Worker = "host/7" })
			def := w.define(nil)
			w.must(w.watch(turnOf(def, vigil.State{})))
			row := w.written[0]
			want := vigil.Result{
				ID: vigil.ResultID(def.Check.ID, region, def.Starts[region]), CheckID: def.Check.ID, Region: region,
				Slot: row.Result.Slot, Time: row.Result.Time, Observation: vigil.Observation{Success: true},
			}
			if !reflect.DeepEqual(row.Result, want) || row.Worker != "host/7" || row.Deadline != probeDeadline {
				t.Errorf("row %+v", row)
			}
		})
	})

	t.Run("WarnsAndMissesTheSlotWhenTheMachineCannotRunTheCheck", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			w.observe = func(context.Context) vigil.Observation {
				return vigil.Observation{Unavailable: true, Error: "raw sockets are forbidden"}
			}
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			if !result.State.Slot.Equal(def.Starts[region]) || result.End != vigil.TurnCovered {
				t.Errorf("end %s at %v, want the slot covered", result.End, result.State.Slot)
			}
			line := "msg=\"this machine cannot run the check\" check=" + def.Check.ID.String() + " type=memory reason=\"raw sockets are forbidden\""
			if w.log.count(line) != 1 {
				t.Errorf("the log has no line %s", line)
			}
		})
	})

	t.Run("StoresAConfigThatCannotRunAsAFailure", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			w.parseErr = vigil.Invalid("config.port", "it is out of range")
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			if result.State.Health != vigil.Unhealthy || len(w.runs) != 0 {
				t.Errorf("result %+v after %d probes", result, len(w.runs))
			}
			if got := w.written[0]; got.Result.Error != "the check cannot run: config.port: it is out of range" || got.Deadline != 0 {
				t.Errorf("stored %+v", got)
			}
		})
	})
}
