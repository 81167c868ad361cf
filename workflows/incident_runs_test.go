package workflows_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/workflows"
)

// next is what the run that the last one was continued as is given: the store
// and the input.
func (e *episode) next() (*episode, bool) {
	e.Helper()
	err := e.env.GetWorkflowError()
	again, ok := errors.AsType[*workflow.ContinueAsNewError](err)
	if !ok {
		if err != nil {
			e.Fatal(err)
		}
		return e, false
	}
	next := newEpisode(e.T, vigil.AnyRegion)
	next.standing, next.rule, next.slot, next.story, next.ids = e.standing, e.rule, e.slot, e.story, e.ids
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next.input); err != nil {
		e.Fatal(err)
	}
	return next, true
}

// TestNeverIdle has the next vote wait whenever a decision is carried out: the
// workflow is continued as new all the same, and each vote is one incident.
func TestNeverIdle(t *testing.T) {
	t.Parallel()
	const episodes = 600
	e := newEpisode(t, vigil.AnyRegion, "a")
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
	if got := len(slices.Compact(e.ids)); got != episodes || len(e.story) != 2*episodes || runs < 2 {
		t.Errorf("%d incidents and %d changes of %d episodes in %d runs", got, len(e.story), episodes, runs)
	}
}

// TestMonthOfFlapping has one of two regions fail at any time for thirty days:
// one episode, however often each of them recovers, and however often the
// workflow is continued as new.
func TestMonthOfFlapping(t *testing.T) {
	t.Parallel()
	const (
		every = 10 * time.Minute
		turns = int(30 * 24 * time.Hour / every)
	)
	e := newEpisode(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true) })
	turn, runs, more := 0, 0, true
	for ; more; runs++ {
		run := e
		var flap func()
		flap = func() {
			turn++
			calm, failing := "a", "b"
			if turn%2 == 0 {
				calm, failing = failing, calm
			}
			run.vote(failing, true)
			run.vote(calm, false)
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
	if got := strings.Join(e.story, ", "); got != "opened, resolved automatic" || turn != turns || runs < 2 {
		t.Errorf("%d of %d turns in %d runs: %s", turn, turns, runs, got)
	}
}
