// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// maintain puts the check in maintenance until an instant after the start, and takes it out
// of it.
func (e *incidentTest) maintain(until time.Duration) {
	e.standing.Maintenance = &vigil.MaintenanceHead{WindowID: uuid.New(), Until: envStart.Add(until)}
}

func TestIncidentInMaintenance(t *testing.T) {
	t.Parallel()

	t.Run("DoesNotOpenAndTheWorkflowStays", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.maintain(time.Hour)
		e.at(0, func() { e.vote("a", true) })
		if transitions, ended := e.run(); transitions != "" || ended || len(e.openings) != 0 {
			t.Errorf("transitions %q, ended %v, openings %v", transitions, ended, e.openings)
		}
	})

	t.Run("OpensAtItsEndWhenTheVoteStillStands", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.maintain(time.Hour)
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.standing.Maintenance = nil; e.look() })
		if transitions, ended := e.run(); transitions != "opened" || ended {
			t.Errorf("transitions %q, ended %v", transitions, ended)
		}
	})

	t.Run("EndsWhenTheVoteIsWithdrawnInside", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.maintain(time.Hour)
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Minute, func() { e.vote("a", false) })
		if transitions, ended := e.run(); transitions != "" || !ended {
			t.Errorf("transitions %q, ended %v", transitions, ended)
		}
	})

	t.Run("AnOpenOneStaysAndItsRecoveryResolvesIt", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.maintain(3 * time.Hour); e.look() })
		e.at(2*time.Hour, func() { e.vote("a", false) })
		if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
			t.Errorf("transitions %q, ended %v", transitions, ended)
		}
	})

	t.Run("ALatchIsKeptAndReleasedAsOutsideOfIt", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.standing.Latch = &vigil.Latch{IncidentID: uuid.New()}
		e.maintain(time.Hour)
		e.store("a", true)
		e.at(0, e.look)
		e.at(time.Hour, func() { e.standing.Maintenance = nil; e.look() })
		e.at(2*time.Hour, func() { e.vote("a", false) })
		if transitions, ended := e.run(); transitions != "unlatched" || !ended {
			t.Errorf("transitions %q, ended %v", transitions, ended)
		}
	})

	// The workflow read its context before the maintenance began.
	t.Run("AnOpeningThatTheStoreRefusesReadsTheContextAgain", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AllRegions, "a", "b")
		e.at(0, func() { e.store("a", false); e.vote("b", true) })
		e.instead = func(vigil.OpenRequest) (vigil.IncidentOutcome, bool) {
			e.maintain(time.Hour)
			return vigil.IncidentOutcome{MaintenanceLeft: time.Millisecond}, true
		}
		e.at(time.Minute, func() { e.vote("a", true) })
		if transitions, ended := e.run(); transitions != "" || ended || len(e.openings) != 1 {
			t.Errorf("transitions %q, ended %v, %d openings, want 1", transitions, ended, len(e.openings))
		}
	})

	t.Run("AForgottenIncidentIsRestored", func(t *testing.T) {
		t.Parallel()
		e := newIncidentTest(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { // the database is restored
			e.maintain(2 * time.Hour)
			e.standing.Incident = nil
			e.look()
		})
		transitions, _ := e.run()
		if transitions != "opened, opened" || len(e.ids) != 2 || e.ids[0] != e.ids[1] || !e.openings[1].Restored || e.openings[0].Restored {
			t.Errorf("transitions %q, ids %v, openings %+v", transitions, e.ids, e.openings)
		}
	})
}

// TestOpenWaitsWhileItIsRefused shows that a workflow whose context does not have the
// maintenance yet asks to open at most once a second.
func TestOpenWaitsWhileItIsRefused(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.instead = func(vigil.OpenRequest) (vigil.IncidentOutcome, bool) {
		if len(e.openings) > 1 {
			return vigil.IncidentOutcome{}, false
		}
		return vigil.IncidentOutcome{MaintenanceLeft: time.Hour}, true
	}
	e.at(0, func() { e.vote("a", true) })
	began := time.Now()
	transitions, _ := e.run()
	if took := time.Since(began); transitions != "opened" || took < time.Second {
		t.Errorf("transitions %q after %v", transitions, took)
	}
}
