// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

func TestRecoveryThreshold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		condition vigil.Condition
		results   []vigil.Result
		want      []bool
	}{
		"OneIsAsWithout": {
			vigil.Condition{HealthStatus: "down", RecoveryThreshold: 1},
			[]vigil.Result{down(nil), up(nil), down(nil)},
			[]bool{true, false, true},
		},
		"KeepsARuleFiringUntilSoManyResultsInARow": {
			vigil.Condition{HealthStatus: "down", RecoveryThreshold: 3},
			[]vigil.Result{down(nil), up(nil), up(nil), down(nil), up(nil), up(nil), up(nil), up(nil)},
			[]bool{true, true, true, true, true, true, false, false},
		},
		"CountsResultsThatDoNotMatchAlsoWhenTheyFail": {
			vigil.Condition{FailureThreshold: 2, RecoveryThreshold: 2},
			[]vigil.Result{down(nil), down(nil), up(nil), down(nil), down(nil), up(nil), up(nil)},
			[]bool{false, true, true, false, true, true, false},
		},
		"NeverMakesARuleFire": {
			vigil.Condition{FailureThreshold: 3, RecoveryThreshold: 5},
			[]vigil.Result{down(nil), down(nil), up(nil), up(nil)},
			[]bool{false, false, false, false},
		},
		"MakesAChangeOfRecordsLast": {
			vigil.Condition{DNSChanged: true, RecoveryThreshold: 3},
			[]vigil.Result{up(answer("A x:1")), up(answer("A x:2")), up(answer("A x:2")), up(answer("A x:2")), up(answer("A x:2"))},
			[]bool{false, true, true, true, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, got := foldAll(ruleOf(test.condition), test.results...); !slices.Equal(got, test.want) {
				t.Errorf("fires %v, want %v", got, test.want)
			}
		})
	}

	t.Run("IsCountedForEachRule", func(t *testing.T) {
		t.Parallel()
		short := ruleOf(vigil.Condition{HealthStatus: "down", RecoveryThreshold: 2})
		long := ruleOf(vigil.Condition{StatusCode: 500, RecoveryThreshold: 3})
		failed := resultAt(1, false)
		failed.StatusCode = 500
		state := evaluateAll([]vigil.Rule{short, long}, vigil.State{}, []vigil.Result{failed, resultAt(2, true), resultAt(3, true)})
		if !slices.Equal(state.Firing, []uuid.UUID{long.ID}) {
			t.Errorf("firing %v, want only the rule that needs three results", state.Firing)
		}
	})

	t.Run("KeepsWhatMatched", func(t *testing.T) {
		t.Parallel()
		rule := ruleOf(vigil.Condition{FailureThreshold: 2, SSLDaysRemaining: new(3), RecoveryThreshold: 4})
		state := evaluateAll([]vigil.Rule{rule}, vigil.State{}, []vigil.Result{
			resultAt(1, false), resultAt(2, false), resultAt(3, true), resultAt(4, true),
		})
		want := vigil.Match{
			Rule: rule.ID, Keys: []string{vigil.KeyFailureThreshold}, Slot: resultAt(2, false).Slot, Failures: 2, Since: 2,
		}
		if !reflect.DeepEqual(state.Matches, []vigil.Match{want}) {
			t.Errorf("matches %+v, want %+v", state.Matches, want)
		}
	})

	t.Run("OfADisabledRuleHoldsNothing", func(t *testing.T) {
		t.Parallel()
		rule := ruleOf(vigil.Condition{HealthStatus: "down", RecoveryThreshold: 9})
		state, _ := vigil.Evaluate([]vigil.Rule{rule}, vigil.State{}, resultAt(1, false))
		rule.Enabled = false
		if state, _ = vigil.Evaluate([]vigil.Rule{rule}, state, resultAt(2, true)); len(state.Firing) > 0 {
			t.Error("a disabled rule is held")
		}
	})

	t.Run("TakesEffectWhenItBecomesSmaller", func(t *testing.T) {
		t.Parallel()
		rule := ruleOf(vigil.Condition{HealthStatus: "down", RecoveryThreshold: 9})
		state := evaluateAll([]vigil.Rule{rule}, vigil.State{}, []vigil.Result{resultAt(1, false), resultAt(2, true), resultAt(3, true)})
		rule.Condition.RecoveryThreshold = 2
		if state, _ = vigil.Evaluate([]vigil.Rule{rule}, state, resultAt(4, true)); len(state.Firing) > 0 {
			t.Error("the rule fires after three results in a row, with a threshold of two")
		}
	})
}

// TestRecoveryThresholdIsAWindow compares the fold with its definition: a rule fires while its
// condition matched one of the last results, as many as its recovery threshold says.
func TestRecoveryThresholdIsAWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule, rows := rapid.Custom(drawRule).Draw(t, "rule"), drawRows(t)
		plain, state, bare := rule, vigil.State{}, vigil.State{}
		plain.Condition.RecoveryThreshold = 0
		var matched []bool
		for i, row := range rows {
			state, _ = vigil.Evaluate([]vigil.Rule{rule}, state, row)
			bare, _ = vigil.Evaluate([]vigil.Rule{plain}, bare, row)
			matched = append(matched, len(bare.Firing) > 0)
			window := matched[max(0, i+1-max(1, rule.Condition.RecoveryThreshold)):]
			if fires := len(state.Firing) > 0; fires != slices.Contains(window, true) {
				t.Fatalf("row %d: fires %v, matched %v", i, fires, window)
			}
		}
	})
}

// TestRebuiltStateFiresTheSameRules compares the fold of all results with that of the newest
// ones, which a loop without a state reads. What was last seen in an answer or a certificate
// is known apart from them.
func TestRebuiltStateFiresTheSameRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, rows := rapid.SliceOfN(rapid.Custom(drawRule), 0, 5).Draw(t, "rules"), drawRows(t)
		older := max(0, len(rows)-vigil.RebuildResults(rules))
		before := evaluateAll(nil, vigil.State{}, rows[:older])
		begin := vigil.State{DNS: before.DNS, DNSSlot: before.DNSSlot, Days: before.Days}
		folded, rebuilt := evaluateAll(rules, vigil.State{}, rows), evaluateAll(rules, begin, rows[older:])
		if !slices.Equal(folded.Firing, rebuilt.Firing) {
			t.Fatalf("folded %+v, rebuilt %+v", folded, rebuilt)
		}
		for i, match := range folded.Matches {
			other := rebuilt.Matches[i]
			if match.Since != other.Since || !match.Slot.Equal(other.Slot) || !slices.Equal(match.Keys, other.Keys) {
				t.Fatalf("folded %+v, rebuilt %+v", match, other)
			}
		}
	})
}
