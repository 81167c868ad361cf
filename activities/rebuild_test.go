package activities_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"vigil"
)

func TestRebuild(t *testing.T) {
	t.Parallel()

	t.Run("CountsAsManyFailuresAsTheLargestThresholdNeeds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(firing(vigil.Condition{FailureThreshold: 150}))
			for i := range 200 {
				w.rows = append(w.rows, vigil.Result{CheckID: def.Check.ID, Region: region, Slot: def.Starts[region].Add(time.Duration(i) * time.Second)})
			}
			w.observe = fails
			state := w.must(w.watch(turnOf(def, vigil.State{}))).State
			if state.Failures < 150 || !slices.Equal(state.Firing, []uuid.UUID{def.Rules[0].ID}) {
				t.Errorf("state %+v, want 150 failures or more and the rule to fire", state)
			}
		})
	})
}
