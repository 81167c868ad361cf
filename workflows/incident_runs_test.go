// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/workflows"
)

// next is what the run that the last one was continued as is given: the store
// and the input.
func (e *incidentTest) next() (*incidentTest, bool) {
	e.Helper()
	err := e.env.GetWorkflowError()
	if !workflow.IsContinueAsNewError(err) {
		if err != nil {
			e.Fatal(err)
		}
		return e, false
	}
	next := newIncidentTest(e.T, vigil.AnyRegion)
	next.standing, next.rule, next.slot, next.transitions, next.ids = e.standing, e.rule, e.slot, e.transitions, e.ids
	next.input = continued[workflows.IncidentInput](e.T, err, "Incident")
	return next, true
}

// TestIncidentContinuesAsNewThoughNeverIdle has the next vote wait whenever a decision is carried out: the
// workflow is continued as new all the same, and each vote is one incident.
func TestIncidentContinuesAsNewThoughNeverIdle(t *testing.T) {
	t.Parallel()
	const episodes = 600
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	runs, more := 0, true
	for ; more; runs++ {
		run := e
		run.busy = func() {
			if fires := run.standing.Incident == nil; !fires || len(run.ids) < episodes {
				run.vote("a", fires)
			}
		}
		run.env.ExecuteWorkflow(workflows.Incident, run.input)
		e, more = run.next()
	}
	slices.SortFunc(e.ids, vigil.CompareIDs)
	if got := len(slices.Compact(e.ids)); got != episodes || len(e.transitions) != 2*episodes || runs < 2 {
		t.Errorf("%d incidents and %d changes of %d episodes in %d runs", got, len(e.transitions), episodes, runs)
	}
}

// TestIncidentOutlivesAMonthOfFlapping has one of two regions fail at any time for thirty days:
// one episode, however often each of them recovers, and however often the
// workflow is continued as new.
func TestIncidentOutlivesAMonthOfFlapping(t *testing.T) {
	t.Parallel()
	const (
		every = 10 * time.Minute
		turns = int(30 * 24 * time.Hour / every)
	)
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true) })
	turn, runs, more := 0, 0, true
	for ; more; runs++ {
		run := e
		var flap func()
		flap = func() {
			turn++
			quiet, failing := "a", "b"
			if turn%2 == 0 {
				quiet, failing = failing, quiet
			}
			run.vote(failing, true)
			run.vote(quiet, false)
			if turn == turns {
				run.vote(failing, false)
				return
			}
			run.at(every, flap)
		}
		run.at(every, flap)
		run.env.ExecuteWorkflow(workflows.Incident, run.input)
		e, more = run.next()
	}
	if got := strings.Join(e.transitions, ", "); got != "opened, resolved automatic" || turn != turns || runs < 2 {
		t.Errorf("%d of %d turns in %d runs: %s", turn, turns, runs, got)
	}
}

func TestIncidentGivesEveryEpisodeAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true); e.vote("b", true) })
	for i := range 20 {
		at := time.Duration(i+1) * time.Hour
		e.at(at, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
		e.at(at+time.Minute, func() { e.vote("a", false); e.vote("a", true); e.vote("b", false); e.vote("b", true) })
	}
	if transitions, _ := e.run(); strings.Count(transitions, "opened") != 21 {
		t.Fatalf("transitions %q", transitions)
	}
	slices.SortFunc(e.ids, vigil.CompareIDs)
	if n := len(slices.Compact(e.ids)); n != 21 {
		t.Errorf("21 incidents with %d ids", n)
	}
}

func TestIncidentContinuesAsNewAfter500Changes(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	// The first vote is taken twice, as a signal and as a row, and opens the incident.
	for i := range 600 {
		e.at(time.Duration(i)*time.Minute, func() { e.vote("a", true) })
	}
	e.env.ExecuteWorkflow(workflows.Incident, e.input)
	continued[workflows.IncidentInput](t, e.env.GetWorkflowError(), "Incident")
	if took := seconds(e.env.Now().Sub(envStart)); took != 497*time.Minute {
		t.Errorf("continued after %v, want with the 497th vote that follows", took)
	}
}

func TestIncidentCarriesWhatItKnowsWhenItContinuesAsNew(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b", "c")
	var last []vigil.Vote
	e.at(0, func() { e.vote("b", false); e.vote("a", true) })
	e.at(time.Minute, func() {
		e.env.SetContinueAsNewSuggested(true)
		last = []vigil.Vote{e.standing.Regions[0].Vote, e.standing.Regions[1].Vote}
		e.vote("a", false)
	})
	e.env.ExecuteWorkflow(workflows.Incident, e.input)
	got := continued[workflows.IncidentInput](t, e.env.GetWorkflowError(), "Incident")
	want := workflows.IncidentInput{
		CheckID: e.input.CheckID, Episode: 1, Votes: last, UnhandledVotes: []vigil.Vote{e.standing.Regions[0].Vote},
		Incident: &vigil.IncidentHead{ID: e.ids[0], Status: vigil.IncidentActive, Rules: e.opened([]uuid.UUID{e.rule})},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("continues with %+v, want %+v", got, want)
	}
}

func TestIncidentThatContinuesReadsTheContextFirst(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.standing.Incident = &vigil.IncidentHead{ID: uuid.New(), Status: vigil.IncidentActive}
	e.input.Episode = 1
	e.store("a", false)
	if transitions, ended := e.run(); transitions != "resolved automatic" || !ended || e.reads == 0 {
		t.Errorf("transitions %q, ended %v, read %d times", transitions, ended, e.reads)
	}
}

func TestIncidentThatContinuesKnowsTheVotesOfTheRunBefore(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	vote := e.store("a", true)
	e.standing.Regions[0].Voted, e.standing.Regions[0].Vote = false, vigil.Vote{}
	e.input.Episode, e.input.Votes = 4, []vigil.Vote{vote}
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Fatalf("transitions %q, ended %v", transitions, ended)
	}
	if want := vigil.IncidentID(firstRunID, 5); e.openings[0].ID != want || !reflect.DeepEqual(e.openings[0].Votes, e.input.Votes) {
		t.Errorf("opened %+v, want the fifth of its chain by the vote carried", e.openings[0])
	}
}

func TestIncidentTakesAVoteThatArrivesAsItEnds(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() {
		e.busy = func() {
			e.busy = func() {}
			e.vote("a", true)
		}
		e.vote("a", false)
	})
	if transitions, ended := e.run(); transitions != "opened, resolved automatic, opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}
