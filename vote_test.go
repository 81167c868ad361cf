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

// TestDecideRulesOfAnOpenIncident has a line for each of the table "Rules of an open incident"
// in docs/state_machine.md.
func TestDecideRulesOfAnOpenIncident(t *testing.T) {
	t.Parallel()
	warn, page := uuid.UUID{1}, uuid.UUID{2}
	any2 := []vigil.RulePolicy{{ID: warn, Policy: vigil.AnyRegion}, {ID: page, Policy: vigil.AnyRegion}}
	votes := func(a, b []uuid.UUID) []vigil.Vote {
		return []vigil.Vote{{Region: "a", Firing: a}, {Region: "b", Firing: b}}
	}
	ids := func(list ...uuid.UUID) []uuid.UUID { return list }
	open := func(rules ...vigil.FiredRule) *vigil.IncidentHead {
		return &vigil.IncidentHead{ID: uuid.UUID{9}, Rules: rules}
	}
	warning := vigil.FiredRule{ID: warn, Opened: true}
	for name, test := range map[string]struct {
		in   vigil.DecisionInput
		want vigil.Decision
	}{
		"AnotherRuleBegins": {
			vigil.DecisionInput{Rules: any2, Votes: votes(ids(warn, page), nil), Incident: open(warning)},
			vigil.Decision{Begun: ids(page), Firing: true},
		},
		"AnotherRuleFiresBelowItsPolicy": {
			vigil.DecisionInput{
				Rules: []vigil.RulePolicy{{ID: warn, Policy: vigil.AnyRegion}, {ID: page, Policy: vigil.AllRegions}},
				Votes: votes(ids(warn, page), nil), Incident: open(warning),
			},
			vigil.Decision{Firing: true},
		},
		"ARuleStopsWhileAnotherFires": {
			vigil.DecisionInput{Rules: any2, Votes: votes(ids(warn), nil), Incident: open(warning, vigil.FiredRule{ID: page})},
			vigil.Decision{Ended: ids(page), Firing: true},
		},
		"ARuleFiresInFewerRegionsThanItsPolicy": {
			vigil.DecisionInput{
				Rules: []vigil.RulePolicy{{ID: warn, Policy: vigil.AllRegions}}, Votes: votes(ids(warn), nil), Incident: open(warning),
			},
			vigil.Decision{Firing: true},
		},
		"ARuleBeginsAgain": {
			vigil.DecisionInput{Rules: any2, Votes: votes(ids(warn, page), nil), Incident: open(warning, vigil.FiredRule{ID: page, Ended: true})},
			vigil.Decision{Begun: ids(page), Firing: true},
		},
		"AFiringRuleIsDisabledOrDeleted": {
			vigil.DecisionInput{Rules: any2[1:], Votes: votes(ids(warn, page), nil), Incident: open(warning, vigil.FiredRule{ID: page})},
			vigil.Decision{Ended: ids(warn), Firing: true},
		},
		"ARuleBeginsInMaintenance": {
			vigil.DecisionInput{Rules: any2, Votes: votes(ids(warn, page), nil), Incident: open(warning), InMaintenance: true},
			vigil.Decision{Firing: true},
		},
		"ARuleStopsInMaintenance": {
			vigil.DecisionInput{
				Rules: any2, Votes: votes(ids(warn), nil), Incident: open(warning, vigil.FiredRule{ID: page}), InMaintenance: true,
			},
			vigil.Decision{Ended: ids(page), Firing: true},
		},
		"TheLastRuleStops": {
			vigil.DecisionInput{Rules: any2, Votes: votes(nil, nil), Incident: open(warning, vigil.FiredRule{ID: page})},
			vigil.Decision{Resolve: true},
		},
		"NoRegionVotes": {
			vigil.DecisionInput{Rules: any2, Incident: open(warning)},
			vigil.Decision{},
		},
		"TheRulesOfTheIncidentAreNotKnown": {
			vigil.DecisionInput{Rules: any2, Votes: votes(ids(warn, page), nil), Incident: open()},
			vigil.Decision{Firing: true},
		},
		"AHeldRuleFiresBesideTheIncident": {
			vigil.DecisionInput{
				Rules: any2, Votes: votes(ids(warn, page), nil), Incident: open(vigil.FiredRule{ID: page, Opened: true}),
				Latched: true, LatchedRules: ids(warn), Quiet: []string{"b"},
			},
			vigil.Decision{Firing: true, Quiet: []string{"b"}, LatchedRules: ids(warn)},
		},
		"OnlyAHeldRuleFires": {
			vigil.DecisionInput{
				Rules: any2, Votes: votes(ids(warn), nil), Incident: open(vigil.FiredRule{ID: page, Opened: true}),
				Latched: true, LatchedRules: ids(warn), Quiet: []string{"b"},
			},
			vigil.Decision{Resolve: true, Firing: true, Quiet: []string{"b"}, LatchedRules: ids(warn)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.in.Enabled, test.in.Open = true, true
			if got := vigil.Decide(test.in); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestDecideLatchHoldsRules has a line for each of the table of the latch in
// docs/state_machine.md.
func TestDecideLatchHoldsRules(t *testing.T) {
	t.Parallel()
	warn, page := uuid.UUID{1}, uuid.UUID{2}
	rules := []vigil.RulePolicy{{ID: warn, Policy: vigil.AnyRegion}, {ID: page, Policy: vigil.AnyRegion}}
	ids := func(list ...uuid.UUID) []uuid.UUID { return list }
	votes := func(a, b []uuid.UUID) []vigil.Vote {
		return []vigil.Vote{{Region: "a", Firing: a}, {Region: "b", Firing: b}}
	}
	for name, test := range map[string]struct {
		in   vigil.DecisionInput
		want vigil.Decision
	}{
		"AHeldRuleGoesOn": {
			vigil.DecisionInput{Rules: rules, Votes: votes(ids(warn), ids(warn)), LatchedRules: ids(warn)},
			vigil.Decision{Firing: true, LatchedRules: ids(warn)},
		},
		"AnotherRuleFires": {
			vigil.DecisionInput{Rules: rules, Votes: votes(ids(warn, page), ids(warn)), LatchedRules: ids(warn)},
			vigil.Decision{Open: true, Rules: ids(page), Firing: true, LatchedRules: ids(warn)},
		},
		"AnotherRuleFiresInMaintenance": {
			vigil.DecisionInput{Rules: rules, Votes: votes(ids(warn, page), ids(warn)), LatchedRules: ids(warn), InMaintenance: true},
			vigil.Decision{Firing: true, LatchedRules: ids(warn)},
		},
		"AHeldRuleStops": {
			vigil.DecisionInput{Rules: rules, Votes: votes(ids(warn), ids(warn)), LatchedRules: ids(warn, page)},
			vigil.Decision{Firing: true, LatchedRules: ids(warn)},
		},
		"AHeldRuleFiresInOneRegionYet": {
			vigil.DecisionInput{Rules: rules, Votes: votes(ids(warn), nil), LatchedRules: ids(warn)},
			vigil.Decision{Firing: true, Quiet: []string{"b"}, LatchedRules: ids(warn)},
		},
		"EveryRegionWasQuietOnce": {
			vigil.DecisionInput{Rules: rules, Votes: votes(nil, ids(warn)), LatchedRules: ids(warn), Quiet: []string{"b"}},
			vigil.Decision{Open: true, Rules: ids(warn), Unlatch: true, Firing: true, Quiet: []string{"a", "b"}, LatchedRules: ids(warn)},
		},
		"TheLastHeldRuleIsDisabled": {
			vigil.DecisionInput{Rules: rules[1:], Votes: votes(ids(warn), ids(warn)), LatchedRules: ids(warn)},
			vigil.Decision{Unlatch: true, Quiet: []string{"a", "b"}, LatchedRules: []uuid.UUID{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.in.Enabled, test.in.Latched = true, true
			got := vigil.Decide(test.in)
			if len(got.Quiet) == 0 {
				got.Quiet = nil
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestJoinRecipients(t *testing.T) {
	t.Parallel()
	chat := vigil.Channel{ID: uuid.UUID{1}, Type: vigil.ChannelChat, Enabled: true}
	pager := vigil.Channel{ID: uuid.UUID{2}, Type: vigil.ChannelPager, Enabled: true}
	off := vigil.Channel{ID: uuid.UUID{3}, Type: vigil.ChannelPush}
	channels := []vigil.Channel{chat, pager, off}
	known := vigil.RecipientsOf([]vigil.Rule{{Channels: []uuid.UUID{chat.ID}, NotifyOn: vigil.NotifyUnhealthy}}, channels, nil)
	for name, test := range map[string]struct {
		rule             vigil.Rule
		opening, recover []uuid.UUID
	}{
		"NotifiesNoneByDefault": {vigil.Rule{Channels: []uuid.UUID{pager.ID}, NotifyOn: vigil.NotifyBoth}, nil, nil},
		"ThoseThatHaveHadNoMessage": {
			vigil.Rule{Channels: []uuid.UUID{chat.ID, pager.ID, off.ID}, NotifyOn: vigil.NotifyUnhealthy, NotifyIfOpen: true},
			[]uuid.UUID{pager.ID},
			nil,
		},
		"ThoseThatAskForBoth": {
			vigil.Rule{Channels: []uuid.UUID{chat.ID, pager.ID}, NotifyOn: vigil.NotifyBoth, NotifyIfOpen: true},
			[]uuid.UUID{pager.ID},
			[]uuid.UUID{chat.ID, pager.ID},
		},
		"ThoseThatAskForTheRecovery": {
			vigil.Rule{Channels: []uuid.UUID{pager.ID}, NotifyOn: vigil.NotifyHealthy, NotifyIfOpen: true},
			nil,
			[]uuid.UUID{pager.ID},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, opening := vigil.JoinRecipients(known, []vigil.Rule{test.rule}, channels, nil)
			var opened, recovering []uuid.UUID
			for _, r := range opening {
				opened = append(opened, r.ChannelID)
			}
			for _, r := range all {
				if r.Recovery {
					recovering = append(recovering, r.ChannelID)
				}
			}
			if !reflect.DeepEqual(opened, test.opening) || !reflect.DeepEqual(recovering, test.recover) {
				t.Errorf("opening %v, recovery %v", opened, recovering)
			}
			if known[0].Recovery {
				t.Error("the recipients that were known have changed")
			}
			if _, again := vigil.JoinRecipients(all, []vigil.Rule{test.rule}, channels, nil); again != nil {
				t.Errorf("a second time it reaches %v", again)
			}
		})
	}
}
