package workflows_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/workflows"
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
