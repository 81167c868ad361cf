package workflows_test

import (
	"testing"
	"time"

	"vigil"
	"vigil/workflows"
)

func TestIncidentOpensAndResolvesAnEpisodeThatEndsBeforeTheContextIsRead(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true); e.vote("a", false) })
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentTakesStoredVotesOnALookSignal(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.store("a", true)
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentCountsAVoteThatArrivesWhileItsRegionIsReadAsSilent(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.standing.Regions[0].Silent = true
	e.read = func() {
		e.read = func() {}
		e.vote("a", true)
	}
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentIgnoresAnOlderVote(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	late := e.store("a", false)
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.env.SignalWorkflow(workflows.SignalVote, late) })
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}
