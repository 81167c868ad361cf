// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestIncidentResolvesAnIncidentWhoseWorkflowWasLost(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.standing.Incident = &vigil.IncidentHead{ID: uuid.New(), Status: vigil.IncidentAcknowledged}
	e.store("a", false)
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentKeepsAStoredLatch(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.standing.Latch = &vigil.Latch{IncidentID: uuid.New()}
	e.store("a", true)
	e.at(0, e.look)
	e.at(time.Hour, func() { e.vote("a", true) })
	if transitions, ended := e.run(); transitions != "" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentIgnoresASilentRegion(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true); e.vote("b", false) })
	e.at(time.Hour, func() { e.standing.Regions[0].Silent = true; e.look() })
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentChangesNothingWhenAllRegionsAreSilent(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.standing.Regions[0].Silent = true; e.look() })
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentIgnoresARemovedRegion(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true); e.vote("b", false) })
	e.at(time.Hour, func() { e.standing.Regions = e.standing.Regions[1:]; e.look() })
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentEndsWhenTheCheckIsDisabled(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.standing.Enabled, e.standing.Regions = false, nil; e.look() })
	if transitions, ended := e.run(); transitions != "opened, resolved check_removed" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentEndsWhenTheCheckIsDeleted(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.gone = true; e.look() })
	if transitions, ended := e.run(); transitions != "opened" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentResolvesWhenItsRuleIsDeleted(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.standing.Rules = nil; e.look() })
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentRetriesWhileTheStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.failures = 5
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.failures = 5; e.vote("a", false) })
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentOpensWithTheRulesThatAreMetAndTheirVotes(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b", "c")
	most, unknown := uuid.New(), uuid.New()
	e.standing.Rules = append(e.standing.Rules, vigil.RulePolicy{ID: most, Policy: vigil.MostRegions})
	met := e.store("a", true)
	other := e.store("b", true)
	other.Firing = []uuid.UUID{most, unknown}
	e.standing.Regions[1].Vote = other
	e.store("c", false)
	e.at(0, e.look)
	if transitions, _ := e.run(); transitions != "opened" {
		t.Fatalf("transitions %q", transitions)
	}
	want := vigil.OpenRequest{
		ID:      vigil.IncidentID(firstRunID, 1),
		CheckID: e.input.CheckID, Rules: []uuid.UUID{e.rule}, Votes: []vigil.Vote{met},
	}
	if !reflect.DeepEqual(e.openings, []vigil.OpenRequest{want}) {
		t.Errorf("opened %+v, want %+v", e.openings, want)
	}
}

func TestIncidentLooksAgainWhenNothingIsOpened(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.instead = func(vigil.OpenRequest) (vigil.IncidentOutcome, bool) {
		e.standing.Rules = nil // the rule was deleted meanwhile
		return vigil.IncidentOutcome{}, true
	}
	e.at(0, func() { e.vote("a", true) })
	if transitions, ended := e.run(); transitions != "" || !ended || e.reads != 2 {
		t.Errorf("transitions %q, ended %v, read %d times", transitions, ended, e.reads)
	}
}

// An opening that is repeated may find that its incident was resolved since.
func TestIncidentOpensAnotherWhenItsIncidentIsResolvedAlready(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.instead = func(opening vigil.OpenRequest) (vigil.IncidentOutcome, bool) {
		return vigil.IncidentOutcome{Incident: vigil.IncidentHead{ID: opening.ID, Status: vigil.IncidentResolved}}, len(e.openings) == 1
	}
	e.at(0, func() { e.vote("a", true) })
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Fatalf("transitions %q, ended %v", transitions, ended)
	}
	if len(e.openings) != 2 || e.openings[0].ID == e.openings[1].ID {
		t.Errorf("opened %+v, want two with ids of their own", e.openings)
	}
}

func TestIncidentLooksAgainWhenItsIncidentIsDeleted(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.standing.Incident = nil; e.vote("a", false) })
	if transitions, ended := e.run(); transitions != "opened" || !ended || e.reads != 2 {
		t.Errorf("transitions %q, ended %v, read %d times", transitions, ended, e.reads)
	}
}

func TestIncidentFailsWhenTheStoreRefusesForGood(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		broken, want string
		begin        func(e *incidentTest)
	}{
		"ToRead": {"Standing", "read the context: ", func(e *incidentTest) { e.vote("a", true) }},
		"ToOpen": {"OpenIncident", "open the incident: ", func(e *incidentTest) { e.vote("a", true) }},
		"ToResolve": {"ResolveIncident", "resolve the incident: ", func(e *incidentTest) {
			e.standing.Incident = &vigil.IncidentHead{ID: uuid.New(), Status: vigil.IncidentActive}
			e.vote("a", false)
		}},
		"ToRemove": {"ResolveIncident", "resolve the incident: ", func(e *incidentTest) {
			e.standing = vigil.IncidentContext{Incident: &vigil.IncidentHead{ID: uuid.New(), Status: vigil.IncidentActive}}
			e.look()
		}},
		"ToUnlatch": {"KeepLatch", "keep the latch: ", func(e *incidentTest) {
			e.standing.Latch = &vigil.Latch{IncidentID: uuid.New()}
			e.vote("a", false)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIncidentTest(t, vigil.AnyRegion, "a")
			e.broken = test.broken
			e.at(0, func() { test.begin(e) })
			e.at(time.Hour, e.env.CancelWorkflow)
			e.fails(test.want, "the store is broken")
		})
	}
}

// TestIncidentReadsItsContextInTheWorkflowTask tests that no activity of its own reads the
// context where the rows are not newer than the votes that the workflow knows.
func TestIncidentReadsItsContextInTheWorkflowTask(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(e *incidentTest)
		calls   []string
		reads   int
	}{
		"TheVoteIsKnown": {func(*incidentTest) {}, []string{"Open", "Resolve"}, 1},
		"ItFails":        {func(e *incidentTest) { e.failures = 1 }, []string{"ReadContext", "Open", "Resolve"}, 2},
		"TheRowOfAnotherRegionIsUnknown": {
			func(e *incidentTest) { e.store("b", false) }, []string{"ReadContext", "Open", "Resolve"}, 2,
		},
		"TheRowIsOlderThanTheVote": {func(e *incidentTest) {
			e.reading = func() { e.standing.Regions[0].Vote.Slot = e.standing.Regions[0].Vote.Slot.Add(-time.Second) }
		}, []string{"Open", "Resolve"}, 1},
		"TheRowIsNewerThanTheVote": {func(e *incidentTest) {
			e.reading = func() {
				e.reading = func() {}
				e.standing.Regions[0].Vote.Slot = e.standing.Regions[0].Vote.Slot.Add(time.Second)
			}
		}, []string{"ReadContext", "Open", "Resolve"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
			test.prepare(e)
			e.at(0, func() { e.vote("a", true) })
			e.at(time.Minute, func() { e.vote("a", false) })
			e.run()
			var calls []string
			for _, call := range e.env.calls {
				calls = append(calls, call.name)
			}
			if !slices.Equal(calls, test.calls) || e.reads != test.reads {
				t.Errorf("activities %q and %d reads, want %q and %d", calls, e.reads, test.calls, test.reads)
			}
		})
	}
}

func TestIncidentRepeatsItsActivitiesUntilTheySucceed(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.failures = 1 // in the workflow task
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Minute, func() { e.vote("a", false) })
	e.run()
	if len(e.env.calls) != 3 {
		t.Errorf("%d activities, want three", len(e.env.calls))
	}
	want := temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second}
	for i, call := range e.env.calls {
		policy := call.options.RetryPolicy
		if i > 0 {
			policy.MaximumAttempts = 0 // the test environment limits what was not limited
		}
		if policy == nil || !reflect.DeepEqual(*policy, want) || call.options.StartToCloseTimeout != 10*time.Second {
			t.Errorf("%s has the options %+v and retries by %+v", call.name, call.options, policy)
		}
	}
}

func TestIncidentNamesItsIncidentInItsSearchAttribute(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	shown := e.env.keywords(workflows.AttributeIncident)
	e.at(0, func() { e.vote("a", true) })
	e.run()
	if len(e.ids) != 1 || !slices.Equal(*shown, []string{e.ids[0].String()}) {
		t.Errorf("shown %v, want the incident of %v", *shown, e.ids)
	}
}

func TestIncidentFailsWhenItCannotShowItsIncident(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.busy = func() { e.env.refusal = errors.New("no such attribute") }
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, e.env.CancelWorkflow)
	e.fails("no such attribute")
}

func TestIncidentFailsWithoutItsUpdates(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.env.refusal = errors.New("no updates here")
	e.at(time.Hour, e.env.CancelWorkflow)
	e.fails("set the update handler: no updates here")
}

func TestIncidentShowsOperatorsWhereTheCheckStands(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b", "c")
	e.rule = uuid.MustParse("00000000-0000-4000-8000-000000000001")
	e.standing.Rules[0].ID = e.rule
	steps := []func(){
		func() { e.vote("a", true); e.vote("b", false) },
		func() { e.update(workflows.UpdateAcknowledge, e.open(), "done") },
		func() { e.standing.Regions[2].Silent = true; e.vote("b", true); e.look() },
		func() { e.update(workflows.UpdateResolve, e.open(), "done") },
		func() { e.vote("a", false); e.vote("b", false) },
	}
	var shown []string
	show := func() {
		details, err := e.env.details()
		if err != nil {
			t.Error(err)
		}
		shown = append(shown, details)
	}
	for i, step := range steps {
		e.at(time.Duration(i)*time.Minute, step)
		if i > 0 {
			e.at(time.Duration(i)*time.Minute-time.Second, show)
		}
	}
	if _, ended := e.run(); !ended {
		t.Error("the workflow has not ended")
	}
	show()
	const first = "\n\n- a fires 1 rules since 2026-03-01T00:00:01Z"
	const both = first + "\n\n- b fires 1 rules since 2026-03-01T00:00:03Z\n\n- c is silent"
	id := e.ids[0].String()
	want := []string{
		"**active** incident " + id + first,
		"**acknowledged** incident " + id + first,
		"**acknowledged** incident " + id + both,
		"**latched**: incident " + id + " was resolved by hand, its episode is not over" + both,
		"no incident\n\n- c is silent",
	}
	if !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
}
