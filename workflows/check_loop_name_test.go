// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

// called is a covered turn that names the check.
func called(name string) func(activities.Turn) (activities.TurnResult, error) {
	return func(turn activities.Turn) (activities.TurnResult, error) {
		result, err := covered(turn)
		result.Name = name
		return result, err
	}
}

func TestCheckLoopShowsTheNameOfItsCheck(t *testing.T) {
	t.Parallel()

	t.Run("ContinuesAsNewWithTheNewOneAfterARename", func(t *testing.T) {
		t.Parallel()
		l := newLoopTest(t)
		l.input.Name, l.input.Label = "shop", "shop (shop.example.com)"
		l.script = append(l.script, called("shop"), covered, called("store"))
		shown := l.env.keywords(workflows.AttributeCheckName)
		next := continued[workflows.LoopInput](t, l.run(), "CheckLoop")
		if len(l.turns) != 3 || len(*shown) != 1 || (*shown)[0] != "store" {
			t.Errorf("after %d turns shown %v, want store once after three", len(l.turns), *shown)
		}
		if next.Name != "store" || next.Label != "store (shop.example.com)" || next.Plan == nil || next.Plan.Name != "" {
			t.Errorf("the next run has %+v", next)
		}
	})

	t.Run("LeavesALoopWithoutANameUntilItsHistoryIsLong", func(t *testing.T) {
		t.Parallel()
		l := newLoopTest(t)
		l.script = append(l.script, called("shop"), covered)
		shown := l.env.keywords(workflows.AttributeCheckName)
		next := continued[workflows.LoopInput](t, l.run(), "CheckLoop")
		if len(l.turns) != 250 || len(*shown) != 1 || next.Name != "shop" {
			t.Errorf("after %d turns shown %v, and the next run has %q", len(l.turns), *shown, next.Name)
		}
	})

	t.Run("TakesItAwayWhenItMustNotBeShown", func(t *testing.T) {
		t.Parallel()
		l := newLoopTest(t)
		l.input.Name = "shop"
		l.script = append(l.script, covered, func(turn activities.Turn) (activities.TurnResult, error) {
			result, err := covered(turn)
			result.Nameless = true
			return result, err
		})
		var removed bool
		l.env.OnUpsertTypedSearchAttributes(mock.MatchedBy(func(values temporal.SearchAttributes) bool {
			removed = !values.ContainsKey(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeCheckName))
			return true
		})).Return(nil)
		next := continued[workflows.LoopInput](t, l.run(), "CheckLoop")
		if len(l.turns) != 2 || !removed || next.Name != "" || next.Plan.Nameless {
			t.Errorf("after %d turns removed %v, and the next run has %+v", len(l.turns), removed, next)
		}
	})

	t.Run("ShowsNothingWhenNoTurnNamesIt", func(t *testing.T) {
		t.Parallel()
		l := newLoopTest(t)
		l.script = append(l.script, covered)
		shown := l.env.keywords(workflows.AttributeCheckName)
		if next := continued[workflows.LoopInput](t, l.run(), "CheckLoop"); len(*shown) != 0 || next.Name != "" {
			t.Errorf("shown %v, and the next run has %q", *shown, next.Name)
		}
	})
}
