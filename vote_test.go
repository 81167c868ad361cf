// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	result := func(seconds int, success bool, metadata map[string]any) vigil.Result {
		r := resultAt(seconds, success)
		r.Metadata = metadata
		return r
	}
	certificate := ruleOf(vigil.Condition{SSLDaysRemaining: new(14), StatusCode: 500})
	records := ruleOf(vigil.Condition{DNSChanged: true, FailureThreshold: 1})

	t.Run("CarryTheDaysOfTheCertificateThatWasSeenLast", func(t *testing.T) {
		t.Parallel()
		state, _ := vigil.Evaluate([]vigil.Rule{certificate, records}, vigil.State{}, result(1, true, map[string]any{vigil.MetadataDays: 9}))
		state, matches := vigil.Evaluate([]vigil.Rule{certificate, records}, state, result(2, false, nil))
		vote := vigil.Vote{Matches: matches}
		match, ok := vote.MatchOf(certificate.ID)
		if !ok || !slices.Equal(match.Keys, []string{vigil.KeySSLDaysRemaining}) || match.Days == nil || *match.Days != 9 {
			t.Errorf("match %+v, %v", match, ok)
		}
		if match, ok := vote.MatchOf(records.ID); !ok || match.Days != nil {
			t.Errorf("a rule without days has the match %+v, %v", match, ok)
		}
		if _, ok := vote.MatchOf(uuid.New()); ok {
			t.Error("a rule that does not fire has a match")
		}
		if !reflect.DeepEqual(state.Matches, matches) || len(state.Firing) != 2 {
			t.Errorf("state %+v", state)
		}
	})

	t.Run("CarryTheSlotOfTheAnswerBeforeAChangeOnly", func(t *testing.T) {
		t.Parallel()
		rules := []vigil.Rule{records}
		state, _ := vigil.Evaluate(rules, vigil.State{}, result(1, true, answer("A x:1")))
		state, matches := vigil.Evaluate(rules, state, result(2, false, nil))
		if len(matches) != 1 || !matches[0].PreviousAnswer.IsZero() {
			t.Errorf("a failure has the matches %+v", matches)
		}
		_, matches = vigil.Evaluate(rules, state, result(3, true, answer("A x:2")))
		if len(matches) != 1 || !matches[0].PreviousAnswer.Equal(resultAt(1, true).Slot) {
			t.Errorf("a change has the matches %+v", matches)
		}
	})

	t.Run("EndWithTheFiring", func(t *testing.T) {
		t.Parallel()
		rules := []vigil.Rule{records}
		state, _ := vigil.Evaluate(rules, vigil.State{}, result(1, false, nil))
		if state, _ = vigil.Evaluate(rules, state, result(2, true, nil)); state.Matches != nil || state.Firing != nil {
			t.Errorf("state %+v", state)
		}
	})

	t.Run("HoldNoAnswer", func(t *testing.T) {
		t.Parallel()
		rules := []vigil.Rule{records}
		state, _ := vigil.Evaluate(rules, vigil.State{}, result(1, true, answer("A x:192.0.2.1")))
		_, matches := vigil.Evaluate(rules, state, result(2, true, answer("A x:192.0.2.2")))
		text, err := json.Marshal(vigil.Vote{Region: "a", Firing: []uuid.UUID{records.ID}, Matches: matches})
		if err != nil || strings.Contains(string(text), "192.0.2") || !strings.Contains(string(text), `"previous_answer"`) {
			t.Errorf("vote %s, %v", text, err)
		}
	})
}

func TestLeadingVote(t *testing.T) {
	t.Parallel()
	rule := uuid.New()
	at := func(region string, seconds int, firing ...uuid.UUID) vigil.Vote {
		return vigil.Vote{Region: region, Slot: resultAt(seconds, true).Slot, Firing: firing}
	}
	votes := []vigil.Vote{at("d", 1, uuid.New()), at("c", 2, uuid.New(), rule), at("b", 2, rule), at("a", 3, rule)}
	for range votes {
		votes = append(votes[1:], votes[0])
		if vote, ok := vigil.LeadingVote(votes, rule); !ok || vote.Region != "b" {
			t.Errorf("of %+v %+v leads, %v", votes, vote, ok)
		}
	}
	if vote, ok := vigil.LeadingVote(votes, uuid.New()); ok {
		t.Errorf("%+v leads for a rule that fires nowhere", vote)
	}
}

// TestMaintenanceKeepsIncidentsFromOpeningAndNothingElse compares every decision with that
// of the same input outside of maintenance.
func TestMaintenanceKeepsIncidentsFromOpeningAndNothingElse(t *testing.T) {
	t.Parallel()
	rule := uuid.New()
	opened := 0
	for _, policy := range []vigil.RegionPolicy{vigil.AnyRegion, vigil.MostRegions, vigil.AllRegions} {
		for bits := range 1 << 6 {
			bit := func(n int) bool { return bits>>n&1 == 1 }
			in := vigil.DecisionInput{
				Enabled: bit(0), Open: bit(1), Latched: bit(2), Rules: []vigil.RulePolicy{{ID: rule, Policy: policy}},
			}
			for n, region := range []string{"a", "b"} {
				vote := vigil.Vote{Region: region}
				if bit(3 + n) {
					vote.Firing = []uuid.UUID{rule}
				}
				in.Votes = append(in.Votes, vote)
			}
			if bit(5) {
				in.Quiet = []string{"a"}
			}
			want := vigil.Decide(in)
			if want.Open {
				opened++
			}
			want.Open, want.Rules = false, nil
			in.InMaintenance = true
			if got := vigil.Decide(in); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v:\ngot  %+v\nwant %+v", in, got, want)
			}
		}
	}
	if opened == 0 {
		t.Error("no input opens an incident outside of maintenance")
	}
}
