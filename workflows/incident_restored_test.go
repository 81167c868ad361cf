// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/workflows"
)

// forget lets Postgres forget the incidents and the votes, as a restore from an older
// backup does, and raises the revision, as the loops then do.
func (e *incidentTest) forget() {
	e.standing.Incident, e.standing.Latch = nil, nil
	e.standing.Revision += 10
	for i := range e.standing.Regions {
		e.standing.Regions[i].Voted = false
	}
}

func TestIncidentIsStoredAgainWhenPostgresForgotIt(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true); e.vote("b", false) })
	e.at(time.Hour, func() { e.forget(); e.vote("a", true) })
	if transitions, ended := e.run(); transitions != "opened, opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	if len(e.ids) != 2 || e.ids[0] != e.ids[1] {
		t.Errorf("the incident has the IDs %v, want the same twice", e.ids)
	}
}

func TestIncidentThatPostgresForgotResolvesWhenNothingFiresAnyMore(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.forget(); e.vote("a", false) })
	if transitions, ended := e.run(); transitions != "opened, opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	if len(e.ids) != 2 || e.ids[0] != e.ids[1] {
		t.Errorf("the incident has the IDs %v, want the same twice", e.ids)
	}
}

func TestLatchIsStoredAgainWhenPostgresForgotIt(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true); e.vote("b", false) })
	e.at(time.Minute, func() { e.update("resolve", e.open(), "done") })
	e.at(time.Hour, func() { e.forget(); e.vote("a", true) })
	if transitions, ended := e.run(); transitions != "opened, resolved manual, opened, resolved manual" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	if len(e.ids) != 2 || e.ids[0] != e.ids[1] {
		t.Errorf("the incident has the IDs %v, want the same twice", e.ids)
	}
	if len(e.closings) != 2 || !e.closings[1].Latch || !slices.Equal(e.closings[1].Quiet, []string{"b"}) {
		t.Errorf("resolved by %+v, want a latch with the quiet region", e.closings)
	}
}

// Postgres knows an earlier incident as open, whose end it has forgotten with all of the
// later one.
func TestEarlierIncidentEndsBeforeTheForgottenOneIsStoredAgain(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	earlier := uuid.New()
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() {
		e.forget()
		e.standing.Incident = &vigil.IncidentHead{ID: earlier, Status: vigil.IncidentActive}
		e.vote("a", true)
	})
	if transitions, ended := e.run(); transitions != "opened, resolved automatic, opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	if len(e.closings) != 1 || e.closings[0].ID != earlier || len(e.ids) != 2 || e.ids[0] != e.ids[1] {
		t.Errorf("resolved %+v and opened %v, want %s resolved and the same opened twice", e.closings, e.ids, earlier)
	}
}

// A workflow that Temporal has of an older backup holds an incident that Postgres knows
// as resolved.
func TestIncidentThatIsOverIsNotStoredAgain(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() {
		e.forget()
		e.instead = func(opening vigil.OpenRequest) (vigil.IncidentOutcome, bool) {
			return vigil.IncidentOutcome{Incident: vigil.IncidentHead{ID: opening.ID, Status: vigil.IncidentResolved}}, true
		}
		e.vote("a", false)
	})
	if transitions, ended := e.run(); transitions != "opened" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
	if len(e.openings) != 2 || e.openings[0].ID != e.openings[1].ID {
		t.Errorf("opened %+v, want the same twice", e.openings)
	}
}

// The signalled vote is of an episode that is over, and so is the incident that it opens.
func TestVoteOfAPastEpisodeOpensNoIncident(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.instead = func(opening vigil.OpenRequest) (vigil.IncidentOutcome, bool) {
		return vigil.IncidentOutcome{Incident: vigil.IncidentHead{ID: opening.ID, Status: vigil.IncidentResolved}}, len(e.openings) == 1
	}
	e.at(0, func() {
		past := e.store("a", true)
		e.store("a", false)
		e.store("b", false)
		e.env.SignalWorkflow(workflows.SignalVote, past)
	})
	if transitions, ended := e.run(); transitions != "" || !ended || len(e.openings) != 1 {
		t.Errorf("transitions %q, ended %v, %d openings", transitions, ended, len(e.openings))
	}
}

// The number of the next incident belongs to one that is resolved: the votes are read
// again, and the next number is taken.
func TestIncidentTakesTheNextNumberWhenTheEpisodeIsNew(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.instead = func(opening vigil.OpenRequest) (vigil.IncidentOutcome, bool) {
		return vigil.IncidentOutcome{Incident: vigil.IncidentHead{ID: opening.ID, Status: vigil.IncidentResolved}}, len(e.openings) <= 3
	}
	e.at(0, func() { e.vote("a", true) })
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Fatalf("transitions %q, ended %v", transitions, ended)
	}
	var ids []uuid.UUID
	for _, opening := range e.openings {
		ids = append(ids, opening.ID)
	}
	want := []uuid.UUID{
		vigil.IncidentID(firstRunID, 1), vigil.IncidentID(firstRunID, 2), vigil.IncidentID(firstRunID, 3), vigil.IncidentID(firstRunID, 4),
	}
	if !reflect.DeepEqual(ids, want) || e.reads != 4 {
		t.Errorf("opened %v, want %v; read %d times, want once before each", ids, want, e.reads)
	}
}
