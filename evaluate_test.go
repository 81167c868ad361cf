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
