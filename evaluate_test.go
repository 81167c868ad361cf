// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

// resultAt is a result some seconds after the epoch.
func resultAt(seconds int, success bool) vigil.Result {
	return vigil.Result{
		Slot:        epoch().Add(time.Duration(seconds) * time.Second),
		Observation: vigil.Observation{Success: success},
	}
}

// ruleOf is an enabled rule with the condition.
func ruleOf(c vigil.Condition) vigil.Rule {
	return vigil.Rule{ID: uuid.New(), Condition: c, Enabled: true}
}

// foldAll evaluates results in order, and returns for each whether the one rule
// fires.
func foldAll(rule vigil.Rule, results ...vigil.Result) (vigil.State, []bool) {
	var state vigil.State
	var fired []bool
	for i, result := range results {
		result.Slot = epoch().Add(time.Duration(i+1) * time.Minute)
		var matches []vigil.Match
		state, matches = vigil.Evaluate([]vigil.Rule{rule}, state, result)
		fired = append(fired, len(matches) > 0)
	}
	return state, fired
}

func up(metadata map[string]any) vigil.Result {
	return vigil.Result{Observation: vigil.Observation{Success: true, Metadata: metadata}}
}

func down(metadata map[string]any) vigil.Result {
	return vigil.Result{Observation: vigil.Observation{Error: "down", Metadata: metadata}}
}

func status(code int) vigil.Result {
	return vigil.Result{Observation: vigil.Observation{Success: code < 400, StatusCode: code}}
}

func slow(ms int) vigil.Result {
	return vigil.Result{Observation: vigil.Observation{Success: true, ResponseTime: time.Duration(ms) * time.Millisecond}}
}

func answer(fingerprint string) map[string]any {
	return map[string]any{vigil.MetadataFingerprint: fingerprint}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()

	t.Run("FailuresInARowAreCounted", func(t *testing.T) {
		t.Parallel()
		got, _ := foldAll(vigil.Rule{}, up(nil), down(nil), down(nil))
		if got.Failures != 2 || got.Health != vigil.Unhealthy || !got.Slot.Equal(epoch().Add(3*time.Minute)) {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("OlderResultChangesNothing", func(t *testing.T) {
		t.Parallel()
		rules := []vigil.Rule{ruleOf(vigil.Condition{HealthStatus: "down"})}
		before, _ := vigil.Evaluate(rules, vigil.State{}, resultAt(5, false))
		after, matches := vigil.Evaluate(rules, before, resultAt(4, true))
		if !reflect.DeepEqual(before, after) || matches != nil {
			t.Errorf("got %+v and %v, want %+v", after, matches, before)
		}
	})

	t.Run("ResultOfTheSameSlotChangesNothing", func(t *testing.T) {
		t.Parallel()
		rules := []vigil.Rule{ruleOf(vigil.Condition{HealthStatus: "down"})}
		before, _ := vigil.Evaluate(rules, vigil.State{}, resultAt(5, true))
		after, matches := vigil.Evaluate(rules, before, resultAt(5, false))
		if !reflect.DeepEqual(before, after) || matches != nil {
			t.Errorf("got %+v and %v, want %+v", after, matches, before)
		}
	})

	t.Run("StateTravelsAsJSON", func(t *testing.T) {
		t.Parallel()
		state, _ := foldAll(ruleOf(vigil.Condition{HealthStatus: "down"}), up(answer("a")), down(map[string]any{vigil.MetadataDays: 3}))
		text, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		var back vigil.State
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(state, back) {
			t.Errorf("%s came back as %+v, %v", text, back, err)
		}
	})

	t.Run("RowsFoldedTwiceChangeNothing", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			rules := rapid.SliceOfN(rapid.Custom(drawRule), 0, 5).Draw(t, "rules")
			rows := drawRows(t)
			again := rapid.IntRange(0, len(rows)).Draw(t, "folded again up to")
			once := evaluateAll(rules, vigil.State{}, rows)
			if twice := evaluateAll(rules, once, rows[:again]); !reflect.DeepEqual(once, twice) {
				t.Fatalf("once %+v, twice %+v", once, twice)
			}
		})
	})

	t.Run("FoldingInPiecesIsFoldingAtOnce", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			rules := rapid.SliceOfN(rapid.Custom(drawRule), 0, 5).Draw(t, "rules")
			rows := drawRows(t)
			cut := rapid.IntRange(0, len(rows)).Draw(t, "cut")
			whole := evaluateAll(rules, vigil.State{}, rows)
			pieces := evaluateAll(rules, evaluateAll(rules, vigil.State{}, rows[:cut]), rows[cut:])
			if !reflect.DeepEqual(whole, pieces) {
				t.Fatalf("at once %+v, in pieces %+v", whole, pieces)
			}
		})
	})

	t.Run("FiringIsSortedEnabledAndIndependentOfTheRulesOrder", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			rules := rapid.SliceOfN(rapid.Custom(drawRule), 0, 8).Draw(t, "rules")
			rows := drawRows(t)
			state := evaluateAll(rules, vigil.State{}, rows)
			if !slices.IsSortedFunc(state.Firing, vigil.CompareIDs) {
				t.Fatalf("firing %v is not sorted", state.Firing)
			}
			for _, rule := range rules {
				if !rule.Enabled && slices.Contains(state.Firing, rule.ID) {
					t.Fatal("a disabled rule fires")
				}
			}
			slices.Reverse(rules)
			if other := evaluateAll(rules, vigil.State{}, rows); !reflect.DeepEqual(state, other) {
				t.Fatalf("%+v became %+v when the rules were reversed", state, other)
			}
		})
	})
}

func evaluateAll(rules []vigil.Rule, state vigil.State, rows []vigil.Result) vigil.State {
	for _, row := range rows {
		state, _ = vigil.Evaluate(rules, state, row)
	}
	return state
}

func drawRule(t *rapid.T) vigil.Rule {
	rule := ruleOf(vigil.Condition{
		HealthStatus:     rapid.SampledFrom([]string{"", "down", "up", "healthy", "unhealthy"}).Draw(t, "health"),
		FailureThreshold: rapid.IntRange(0, 4).Draw(t, "threshold"),
		StatusCode:       rapid.SampledFrom([]int{0, 400, 500}).Draw(t, "status"),
		DNSChanged:       rapid.Bool().Draw(t, "dns"),

		RecoveryThreshold: rapid.IntRange(0, 4).Draw(t, "recovery"),
	})
	if rapid.Bool().Draw(t, "has days") {
		rule.Condition.SSLDaysRemaining = new(rapid.IntRange(0, 30).Draw(t, "days"))
	}
	rule.Enabled = rapid.Bool().Draw(t, "enabled")
	return rule
}

func drawRows(t *rapid.T) []vigil.Result {
	var rows []vigil.Result
	for i, success := range rapid.SliceOfN(rapid.Bool(), 0, 20).Draw(t, "successes") {
		row := resultAt(i+1, success)
		row.StatusCode = rapid.SampledFrom([]int{0, 200, 404, 503}).Draw(t, "code")
		row.Metadata = map[string]any{}
		if rapid.Bool().Draw(t, "answered") {
			row.Metadata[vigil.MetadataFingerprint] = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "answer")
		}
		if rapid.Bool().Draw(t, "has a certificate") {
			row.Metadata[vigil.MetadataDays] = rapid.IntRange(-5, 40).Draw(t, "left")
		}
		rows = append(rows, row)
	}
	return rows
}

func FuzzEvaluate(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, []byte(`{"failure_threshold":2}`))
	f.Add([]byte{9, 200, 17}, []byte(`{"dns_changed":true,"ssl_days_remaining":3}`))
	f.Fuzz(func(t *testing.T, rows, text []byte) {
		condition, err := vigil.ParseCondition(text)
		if err != nil {
			return
		}
		rules := []vigil.Rule{ruleOf(condition)}
		var state vigil.State
		for i, b := range rows {
			row := resultAt(i+1, b&1 == 0)
			row.StatusCode = int(b) * 4
			row.ResponseTime = time.Duration(b) * time.Millisecond
			row.Metadata = map[string]any{vigil.MetadataFingerprint: string(rune('a' + b&3)), vigil.MetadataDays: int(b) - 50}
			next, matches := vigil.Evaluate(rules, state, row)
			if (len(matches) == 1) != (len(next.Firing) == 1) || !next.Slot.Equal(row.Slot) {
				t.Fatalf("%+v with %v", next, matches)
			}
			if row.Success && next.Failures != 0 || !row.Success && next.Failures != state.Failures+1 {
				t.Fatalf("%d failures after %d, success %v", next.Failures, state.Failures, row.Success)
			}
			state = next
		}
	})
}

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
		older := max(0, len(rows)-vigil.RebuildResults(rules, 0))
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
