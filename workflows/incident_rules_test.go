// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/workflows"
)

// opened are the rules of an incident that opens, as the store keeps them.
func (e *incidentTest) opened(rules []uuid.UUID) []vigil.FiredRule {
	var list []vigil.FiredRule
	for _, rule := range rules {
		list = append(list, vigil.FiredRule{ID: rule, Opened: true})
	}
	return list
}

func (e *incidentTest) ChangeRules(_ context.Context, request vigil.RulesRequest) (vigil.IncidentOutcome, error) {
	if err := e.fail("ChangeRules"); err != nil {
		return vigil.IncidentOutcome{}, err
	}
	e.changes = append(e.changes, request)
	rules := slices.Clone(e.standing.Incident.Rules)
	for i := range rules {
		rules[i].Ended = rules[i].Ended || slices.Contains(request.Ended, rules[i].ID)
	}
	for _, rule := range request.Begun {
		if at := slices.IndexFunc(rules, func(r vigil.FiredRule) bool { return r.ID == rule }); at >= 0 {
			rules[at].Ended = false
		} else {
			rules = append(rules, vigil.FiredRule{ID: rule})
		}
	}
	e.standing.Incident.Rules = rules
	if e.changed != nil {
		e.changed(request)
	}
	return vigil.IncidentOutcome{Incident: *e.standing.Incident}, nil
}

// newRulesTest is a check with two rules, warn and page.
func newRulesTest(t *testing.T, regions ...string) (e *incidentTest, warn, page uuid.UUID) {
	t.Helper()
	e = newIncidentTest(t, vigil.AnyRegion, regions...)
	warn, page = e.rule, uuid.New()
	e.standing.Rules = append(e.standing.Rules, vigil.RulePolicy{ID: page, Policy: vigil.AnyRegion})
	return e, warn, page
}

// fire lets a region say that these rules fire.
func (e *incidentTest) fire(region string, rules ...uuid.UUID) {
	vote := e.store(region, false)
	vote.Firing = rules
	e.keep(vote)
	e.env.SignalWorkflow(workflows.SignalVote, vote)
}

func TestIncidentRecordsRulesThatBeginAndStop(t *testing.T) {
	t.Parallel()
	e, warn, page := newRulesTest(t, "a")
	e.at(0, func() { e.fire("a", warn) })
	e.at(time.Minute, func() { e.fire("a", warn, page) })
	e.at(2*time.Minute, func() { e.fire("a", page) })
	e.at(3*time.Minute, func() { e.fire("a", warn, page) })
	e.at(4*time.Minute, func() { e.fire("a") })
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	want := []struct{ begun, ended []uuid.UUID }{{[]uuid.UUID{page}, nil}, {nil, []uuid.UUID{warn}}, {[]uuid.UUID{warn}, nil}}
	if len(e.changes) != len(want) {
		t.Fatalf("%d changes: %+v", len(e.changes), e.changes)
	}
	for n, change := range e.changes {
		if !reflect.DeepEqual(change.Begun, want[n].begun) || !reflect.DeepEqual(change.Ended, want[n].ended) || change.ID != e.ids[0] {
			t.Errorf("change %d is %+v", n, change)
		}
	}
	if votes := e.changes[0].Votes; len(votes) != 1 || !slices.Contains(votes[0].Firing, page) {
		t.Errorf("the rule that begins has the votes %+v", votes)
	}
}

// The latch holds what fired when the incident was resolved by hand.
func TestIncidentOpensForAnotherRuleThanTheLatchHolds(t *testing.T) {
	t.Parallel()
	e, warn, page := newRulesTest(t, "a")
	e.at(0, func() { e.fire("a", warn) })
	e.at(time.Minute, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
	e.at(2*time.Minute, func() { e.fire("a", warn, page) })
	e.at(3*time.Minute, func() { e.fire("a", warn) })
	e.at(4*time.Minute, func() { e.fire("a") })
	transitions, ended := e.run()
	if transitions != "opened, resolved manual, opened, resolved automatic, unlatched" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	if len(e.openings) != 2 || !reflect.DeepEqual(e.openings[1].Rules, []uuid.UUID{page}) {
		t.Errorf("openings %+v", e.openings)
	}
}

func TestIncidentKeepsWhatIsHeldWhenASecondOneIsResolvedByHand(t *testing.T) {
	t.Parallel()
	e, warn, page := newRulesTest(t, "a")
	e.at(0, func() { e.fire("a", warn) })
	e.at(time.Minute, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
	e.at(2*time.Minute, func() { e.fire("a", warn, page) })
	e.at(3*time.Minute, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
	e.at(4*time.Minute, func() { e.fire("a", warn) })
	e.at(5*time.Minute, func() { e.fire("a", warn, page) }) // it was quiet, so this is another episode
	if transitions, _ := e.run(); transitions != "opened, resolved manual, opened, resolved manual, opened" {
		t.Errorf("transitions %q", transitions)
	}
	want := slices.SortedFunc(slices.Values([]uuid.UUID{warn, page}), vigil.CompareIDs)
	if len(e.closings) != 2 || !reflect.DeepEqual(e.closings[1].LatchedRules, want) {
		t.Errorf("closings %+v", e.closings)
	}
}

// A rule whose region policy is not met has sent no message, so no latch holds it.
func TestIncidentHoldsNoRuleThatSentNoMessage(t *testing.T) {
	t.Parallel()
	e, warn, page := newRulesTest(t, "a", "b")
	e.standing.Rules[1].Policy = vigil.AllRegions
	e.at(0, func() { e.fire("b"); e.fire("a", warn, page) })
	e.at(time.Minute, func() { e.fire("a", page) })
	e.at(2*time.Minute, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
	e.at(3*time.Minute, func() { e.fire("b", page) })
	if transitions, _ := e.run(); transitions != "opened, resolved manual, opened" {
		t.Errorf("transitions %q", transitions)
	}
}

// What the store refuses, because the rule was disabled meanwhile, is asked for once.
func TestIncidentReadsAgainWhenARuleIsRefused(t *testing.T) {
	t.Parallel()
	e, warn, page := newRulesTest(t, "a")
	e.changed = func(vigil.RulesRequest) {
		e.standing.Rules = e.standing.Rules[:1]
		e.standing.Incident.Rules = e.standing.Incident.Rules[:1]
	}
	e.at(0, func() { e.fire("a", warn) })
	e.at(time.Minute, func() { e.fire("a", warn, page) })
	if transitions, _ := e.run(); transitions != "opened" || len(e.changes) != 1 {
		t.Errorf("transitions %q, %d changes", transitions, len(e.changes))
	}
}

// The store is restored from a backup of before the incident: it opens with the rules that
// opened it, and the others begin again.
func TestIncidentRestoresTheRulesInTheirOrder(t *testing.T) {
	t.Parallel()
	e, warn, page := newRulesTest(t, "a")
	e.at(0, func() { e.fire("a", warn) })
	e.at(time.Minute, func() { e.fire("a", warn, page) })
	e.at(2*time.Minute, func() { e.standing.Incident = nil; e.look() })
	if transitions, _ := e.run(); transitions != "opened, opened" {
		t.Fatalf("transitions %q", transitions)
	}
	if len(e.openings) != 2 || e.openings[1].ID != e.openings[0].ID || !slices.Equal(e.openings[1].Rules, []uuid.UUID{warn}) {
		t.Errorf("openings %+v", e.openings)
	}
	if len(e.changes) != 2 || !slices.Equal(e.changes[1].Begun, []uuid.UUID{page}) {
		t.Errorf("changes %+v", e.changes)
	}
}

func TestIncidentRulesSurviveAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	e, warn, page := newRulesTest(t, "a")
	e.at(0, func() { e.fire("a", warn) })
	e.at(time.Minute, func() { e.failures = 3; e.fire("a", warn, page) })
	if transitions, _ := e.run(); !strings.HasPrefix(transitions, "opened") || len(e.changes) != 1 {
		t.Errorf("transitions %q, %d changes", transitions, len(e.changes))
	}
}
