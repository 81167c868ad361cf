// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestIncidentRejectsUpdatesOfAnotherIncident(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Minute, func() { e.update(workflows.UpdateResolve, uuid.New(), "rejected") })
	e.at(time.Hour, func() { e.update(workflows.UpdateAcknowledge, uuid.Nil, "rejected") })
	if transitions, _ := e.run(); transitions != "opened" {
		t.Errorf("transitions %q", transitions)
	}
}

func TestIncidentThatIsResolvedByHandNamesItsRegions(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b", "c")
	e.at(0, func() { e.vote("a", false); e.vote("b", true) })
	e.at(time.Minute, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
	e.run()
	want := vigil.ResolveRequest{
		Resolution: vigil.ResolvedManually, TextID: e.request.TextID, Latch: true, Regions: []string{"b"},
		Quiet: []string{"a"}, LatchedRules: []uuid.UUID{e.rule},
	}
	if len(e.ids) == 1 {
		want.ID = e.ids[0]
	}
	if !reflect.DeepEqual(e.closings, []vigil.ResolveRequest{want}) {
		t.Errorf("resolved %+v, want %+v", e.closings, want)
	}
}

func TestIncidentUnlatchesInTwoSteps(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true); e.vote("b", true) })
	e.at(time.Minute, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
	// That a region fires again, or is quiet again, is nothing to the latch.
	for i, vote := range []struct {
		region string
		fires  bool
	}{{"a", false}, {"a", true}, {"a", false}, {"a", true}, {"b", false}} {
		e.at(time.Duration(i+1)*time.Hour, func() { e.vote(vote.region, vote.fires) })
	}
	if transitions, ended := e.run(); transitions != "opened, resolved manual, unlatched, opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	want := []activities.LatchState{
		{ID: e.ids[0], Quiet: []string{"a"}, LatchedRules: []uuid.UUID{e.rule}},
		{ID: e.ids[0], Quiet: []string{"a", "b"}, LatchedRules: []uuid.UUID{e.rule}, Ended: true},
	}
	if !reflect.DeepEqual(e.latches, want) {
		t.Errorf("latches %+v, want %+v", e.latches, want)
	}
}

func TestIncidentUnlatchesWhenItsCheckIsDisabled(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	latch := vigil.Latch{IncidentID: uuid.New()}
	e.standing.Latch = &latch
	e.standing.Enabled = false
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "unlatched" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	if want := []activities.LatchState{{ID: latch.IncidentID, Ended: true}}; !reflect.DeepEqual(e.latches, want) {
		t.Errorf("latches %+v, want %+v", e.latches, want)
	}
}

// A request that was accepted is answered before the workflow ends.
func TestIncidentAnswersARequestThatItCannotMeetAnyMore(t *testing.T) {
	t.Parallel()

	t.Run("BecauseTheIncidentIsResolvedMeanwhile", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() {
			id := e.open()
			e.busy = func() { e.update(workflows.UpdateAcknowledge, id, "failed") }
			e.vote("a", false)
		})
		transitions, ended := e.run()
		if transitions != "opened, resolved automatic" || !ended || !slices.Equal(e.answers, []string{"failed"}) {
			t.Errorf("transitions %q, ended %v, answers %q", transitions, ended, e.answers)
		}
	})

	t.Run("BecauseTheCheckIsDeleted", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.gone = true
		e.at(0, func() { e.update(workflows.UpdateAcknowledge, uuid.New(), "failed") })
		if _, ended := e.run(); !ended || !slices.Equal(e.answers, []string{"failed"}) {
			t.Errorf("ended %v, answers %q", ended, e.answers)
		}
	})
}

// Texts and addresses stay in Postgres: requests to activities have the id of the text.
func TestIncidentPassesTheIDOfATextOn(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Minute, func() { e.update(workflows.UpdateAcknowledge, e.open(), "done") })
	e.at(time.Hour, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
	e.run()
	if len(e.acknowledgements) != 1 || e.acknowledgements[0].TextID != e.request.TextID {
		t.Errorf("acknowledged %+v", e.acknowledgements)
	}
	if len(e.closings) != 1 || e.closings[0].TextID != e.request.TextID {
		t.Errorf("resolved %+v", e.closings)
	}
}
