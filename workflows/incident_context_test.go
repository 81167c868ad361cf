package workflows_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
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
