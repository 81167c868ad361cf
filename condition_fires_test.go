// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

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
