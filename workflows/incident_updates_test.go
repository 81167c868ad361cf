package workflows_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/workflows"
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
