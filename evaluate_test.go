package vigil_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"vigil"
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

func TestConditionsFire(t *testing.T) {
	t.Parallel()
	days := func(n any) map[string]any { return map[string]any{vigil.MetadataDays: n} }
	for _, test := range []struct {
		name      string
		condition vigil.Condition
		results   []vigil.Result
		want      []bool
	}{
		{
			"DownFiresOnEveryFailingResult",
			vigil.Condition{HealthStatus: "down"},
			[]vigil.Result{up(nil), down(nil), down(nil), up(nil)},
			[]bool{false, true, true, false},
		},
		{
			"UpFiresOnEverySucceedingResult",
			vigil.Condition{HealthStatus: "up"},
			[]vigil.Result{up(nil), down(nil), up(nil)},
			[]bool{true, false, true},
		},
		{
			"ThresholdFiresFromTheThirdFailureInARow",
			vigil.Condition{FailureThreshold: 3},
			[]vigil.Result{down(nil), down(nil), up(nil), down(nil), down(nil), down(nil), down(nil), up(nil)},
			[]bool{false, false, false, false, false, true, true, false},
		},
		{
			"ResponseTimeFiresAboveAndNotAtTheBound",
			vigil.Condition{ResponseTimeMS: new(200)},
			[]vigil.Result{slow(199), slow(200), slow(201)},
			[]bool{false, false, true},
		},
		{
			"StatusCodeFiresAtTheBoundAndAbove",
			vigil.Condition{StatusCode: 500},
			[]vigil.Result{status(200), status(499), status(500), status(503), {}},
			[]bool{false, false, true, true, false},
		},
		{
			"DNSFiresForTheResultThatSawTheChangeOnly",
			vigil.Condition{DNSChanged: true},
			[]vigil.Result{up(answer("a")), up(answer("a")), up(answer("b")), up(answer("b")), up(answer("a"))},
			[]bool{false, false, true, false, true},
		},
		{
			"DNSAnswersToAnotherQuestionAreNoChange",
			vigil.Condition{DNSChanged: true},
			[]vigil.Result{up(answer("a")), up(answer("mx:a")), up(answer("ns:b")), up(answer("ns:a")), up(answer("mx:b"))},
			[]bool{false, false, false, true, false},
		},
		{
			"DNSFailuresNeverCountAsAChange",
			vigil.Condition{DNSChanged: true},
			[]vigil.Result{up(answer("a")), down(nil), down(answer("b")), up(answer("a")), up(answer("b"))},
			[]bool{false, false, false, false, true},
		},
		{
			"CertificateFiresAtTheBoundAndBelow",
			vigil.Condition{SSLDaysRemaining: new(14)},
			[]vigil.Result{up(days(15)), up(days(14)), down(days(-1)), up(days(90))},
			[]bool{false, true, true, false},
		},
		{
			"CertificateThatWasNotSeenStaysAsItWas",
			vigil.Condition{SSLDaysRemaining: new(14)},
			[]vigil.Result{down(nil), up(days(10)), down(nil), up(nil), up(days(90)), down(nil)},
			[]bool{false, true, true, true, false, false},
		},
		{
			"CertificateIsReadFromStoredNumbers",
			vigil.Condition{SSLDaysRemaining: new(14)},
			[]vigil.Result{up(days(float64(10))), up(days(json.Number("20"))), up(days(int64(3))), up(days("none"))},
			[]bool{true, false, true, true},
		},
		{
			"StoredDaysAboveTheBoundDoNotFire",
			vigil.Condition{SSLDaysRemaining: new(14)},
			[]vigil.Result{
				up(days(float64(15))),
				up(days(float64(14))),
				up(days(int64(15))),
				up(days(json.Number("14"))),
				up(days(json.Number("none"))),
			},
			[]bool{false, true, false, true, true},
		},
		{
			"CertificateOfAnHTTPCheckCounts",
			vigil.Condition{SSLDaysRemaining: new(14)},
			[]vigil.Result{up(map[string]any{vigil.MetadataCertDays: 15}), up(map[string]any{vigil.MetadataCertDays: 14})},
			[]bool{false, true},
		},
		{
			"CertificateThatWasNeverSeenDoesNotFire",
			vigil.Condition{SSLDaysRemaining: new(14)},
			[]vigil.Result{up(nil), up(days(json.Number("none")))},
			[]bool{false, false},
		},
		{
			"EmptyDNSAnswerIsNoAnswer",
			vigil.Condition{DNSChanged: true},
			[]vigil.Result{up(answer("a")), up(answer("")), up(answer("a")), up(answer("b"))},
			[]bool{false, false, false, true},
		},
		{
			"HealthWordsHaveASecondSpelling",
			vigil.Condition{HealthStatus: "healthy"},
			[]vigil.Result{up(nil), down(nil)},
			[]bool{true, false},
		},
		{
			"UnhealthyMeansDown",
			vigil.Condition{HealthStatus: "unhealthy"},
			[]vigil.Result{up(nil), down(nil)},
			[]bool{false, true},
		},
		{
			"KeysThatAreAbsentNeverMatch",
			vigil.Condition{},
			[]vigil.Result{
				status(999),
				{Observation: vigil.Observation{ResponseTime: time.Hour, Metadata: days(-1)}},
				up(answer("a")),
				up(answer("b")),
			},
			[]bool{false, false, false, false},
		},
		{
			"AnyKeyThatMatchesIsEnough",
			vigil.Condition{FailureThreshold: 5, ResponseTimeMS: new(100)},
			[]vigil.Result{slow(50), slow(150), down(nil)},
			[]bool{false, true, false},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, got := foldAll(ruleOf(test.condition), test.results...); !slices.Equal(got, test.want) {
				t.Errorf("fired %v, want %v", got, test.want)
			}
		})
	}

	t.Run("NamesTheKeysThatMatched", func(t *testing.T) {
		t.Parallel()
		rule := ruleOf(vigil.Condition{HealthStatus: "down", FailureThreshold: 1, ResponseTimeMS: new(1000)})
		_, matches := vigil.Evaluate([]vigil.Rule{rule}, vigil.State{}, resultAt(1, false))
		if want := []string{vigil.KeyHealthStatus, vigil.KeyFailureThreshold}; len(matches) != 1 || !slices.Equal(matches[0].Keys, want) {
			t.Errorf("matches %+v, want the keys %v", matches, want)
		}
	})

	t.Run("NamesEveryKeyInItsFixedOrder", func(t *testing.T) {
		t.Parallel()
		rule := ruleOf(vigil.Condition{
			HealthStatus:     "up",
			FailureThreshold: 1,
			ResponseTimeMS:   new(1),
			StatusCode:       400,
			DNSChanged:       true,
			SSLDaysRemaining: new(3),
			Severity:         vigil.Info,
		})
		state, _ := vigil.Evaluate([]vigil.Rule{rule}, vigil.State{}, vigil.Result{Slot: epoch(), Observation: up(answer("a")).Observation})
		both := map[string]any{vigil.MetadataFingerprint: "b", vigil.MetadataDays: 3}
		_, matches := vigil.Evaluate([]vigil.Rule{rule}, state, vigil.Result{
			Slot:        epoch().Add(time.Second),
			Observation: vigil.Observation{Success: true, ResponseTime: time.Second, StatusCode: 418, Metadata: both},
		})
		want := []string{vigil.KeyHealthStatus, vigil.KeyResponseTime, vigil.KeyStatusCode, vigil.KeyDNSChanged, vigil.KeySSLDaysRemaining}
		if len(matches) != 1 || matches[0].Rule != rule.ID || !slices.Equal(matches[0].Keys, want) {
			t.Errorf("matches %+v, want the keys %v", matches, want)
		}
	})

	t.Run("MatchesAreInTheOrderOfTheirRules", func(t *testing.T) {
		t.Parallel()
		rules := []vigil.Rule{ruleOf(vigil.Condition{HealthStatus: "down"}), ruleOf(vigil.Condition{FailureThreshold: 1})}
		rules[0].ID, rules[1].ID = uuid.UUID{2}, uuid.UUID{1}
		state, matches := vigil.Evaluate(rules, vigil.State{}, resultAt(1, false))
		if len(matches) != 2 || matches[0].Rule != rules[1].ID || matches[1].Rule != rules[0].ID ||
			!slices.Equal(state.Firing, []uuid.UUID{{1}, {2}}) {
			t.Errorf("matches %+v, firing %v", matches, state.Firing)
		}
	})

	t.Run("DisabledRuleNeverFires", func(t *testing.T) {
		t.Parallel()
		rule := ruleOf(vigil.Condition{HealthStatus: "down"})
		rule.Enabled = false
		if _, fired := foldAll(rule, down(nil)); fired[0] {
			t.Error("it fired")
		}
	})
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
