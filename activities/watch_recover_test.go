// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestWatchRecover tests how a turn catches up with rows that its state lacks.
func TestWatchRecover(t *testing.T) {
	t.Parallel()

	t.Run("RecoversTheResultsOfALostTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			lost := w.must(w.watch(turnOf(def, vigil.State{}))).State
			w.observe = fails
			for range 3 {
				w.must(w.watch(turnOf(def, w.must(w.watch(turnOf(def, vigil.State{}))).State)))
			}
			turn := turnOf(def, lost)
			turn.Recover = true
			result := w.must(w.watch(turn))
			if want := len(w.rows) - 1; result.State.Failures != want {
				t.Errorf("%d failures in a row, want the %d that are stored", result.State.Failures, want)
			}
		})
	})

	t.Run("RebuildsTheStateFromStoredResults", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(startedAgo(10 * time.Minute))
			for i := range 4 {
				slot := def.Starts[region].Add(time.Duration(i) * time.Minute)
				w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: slot})
			}
			w.observe = fails
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			if result.State.Failures != 5 || result.End != vigil.TurnCovered {
				t.Errorf("state %+v end %s, want 5 failures and no change", result.State, result.End)
			}
		})
	})

	t.Run("IgnoresResultsFromBeforeTheCheckWasDisabled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{HealthStatus: "down"}))
			w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: def.Starts[region].Add(-time.Hour)})
			result := w.must(w.watch(turnOf(def, vigil.State{})))
			if len(result.State.Firing) > 0 || len(w.runs) != 1 {
				t.Errorf("state %+v after %d probes: a result of an earlier schedule counts", result.State, len(w.runs))
			}
		})
	})
}

// TestWatchRecoverReports tests what a turn reports of rows that its state lacks.
func TestWatchRecoverReports(t *testing.T) {
	t.Parallel()

	t.Run("ReportsStartAndEndOfAFailureInTheResultsOfALostTurn", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{HealthStatus: "down"}))
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			for i, success := range []bool{true, false, false, true} {
				w.rows = append(w.rows, vigil.Result{
					CheckID: def.Check.ID, Region: region, Slot: state.Slot.Add(time.Duration(i+1) * time.Second),
					Observation: vigil.Observation{Success: success},
				})
			}
			turn := turnOf(def, state)
			turn.Recover = true
			began := w.must(w.watch(turn))
			if began.End != vigil.TurnChanged || !began.Behind || len(began.State.Firing) != 1 ||
				!began.State.Slot.Equal(state.Slot.Add(2*time.Second)) {
				t.Fatalf("the start is reported as %+v", began)
			}
			turn.State = began.State
			over := w.must(w.watch(turn))
			if over.End != vigil.TurnChanged || !over.Behind || len(over.State.Firing) != 0 || len(w.runs) != 1 {
				t.Fatalf("the end is reported as %+v after %d probes", over, len(w.runs))
			}
			turn.State = over.State
			if rest := w.must(w.watch(turn)); rest.Behind || rest.End != vigil.TurnCovered || len(w.runs) != 2 {
				t.Errorf("the turn after it is %+v after %d probes", rest, len(w.runs))
			}
		})
	})

	t.Run("FailsWhenTheResultsCannotBeRead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.started(def)
			turn.Recover = true
			w.historyErr = errors.New("postgres is down")
			for want, turn := range map[string]activities.Turn{
				"rebuild the state: postgres is down":               turnOf(def, vigil.State{}),
				"read the results of a lost turn: postgres is down": turn,
			} {
				if _, err := w.watch(turn); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
			}
		})
	})
}
