// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/project"
)

// TestWindowsFollowTheChecksOfTheSameApply changes checks and the windows that cover them at once.
func TestWindowsFollowTheChecksOfTheSameApply(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	stays, goes := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
	now, err := s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	window := func(scope maintenance.Scope) *maintenance.Window {
		return &maintenance.Window{
			OrgID: org.ID, Name: "Update", Enabled: true, Probing: maintenance.ProbingContinue, Uptime: maintenance.UptimeExclude, Scope: scope,
			Schedule: maintenance.Schedule{StartsAt: now.Add(-time.Hour).Truncate(time.Second), Timezone: "UTC", Duration: 2 * time.Hour},
		}
	}
	named, err := s.CreateMaintenanceWindow(t.Context(), *window(maintenance.Scope{CheckIDs: []uuid.UUID{stays.ID, goes.ID}}))
	if err != nil {
		t.Fatal(err)
	}
	request := project.ApplyRequest{
		OrgID: org.ID, Project: "shop", Plan: unlimited(),
		IDs: map[project.Kind][]uuid.UUID{project.KindCheck: {stays.ID, goes.ID}, project.KindMaintenance: {named.ID}},
	}
	queued := func() int64 {
		return count(t, s, "SELECT count(*) FROM result_reclassifications WHERE check_id = ?", stays.ID)
	}
	if _, err := s.DB().NewRaw("DELETE FROM result_reclassifications").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(t.Context(), request, func(inv project.Inventory) (changes project.Changes, err error) {
		for i := range inv.Checks {
			edit := project.Edit[vigil.Check]{Before: &inv.Checks[i]}
			if edit.Before.ID == stays.ID {
				edit.After = new(*edit.Before)
				edit.After.Labels = vigil.Labels{"team": "web"}
			}
			changes.Checks = append(changes.Checks, edit)
		}
		labeled := window(maintenance.Scope{Labels: []string{"team=web"}})
		changes.Windows = []project.Edit[maintenance.Window]{{After: labeled}}
		return changes, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if queued() == 0 {
		t.Error("the results of the check that the window covers by its new label are not marked")
	}
	other := newCheck(t, s, draft(org.ID, newark))
	if _, err := s.UpdateMaintenanceWindow(t.Context(), org.ID, named.ID, func(w *maintenance.Window) error {
		w.Scope.CheckIDs = []uuid.UUID{stays.ID, other.ID}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	request.IDs[project.KindCheck] = []uuid.UUID{other.ID}
	_, err = s.Apply(t.Context(), request, func(inv project.Inventory) (changes project.Changes, err error) {
		for i := range inv.Checks {
			if inv.Checks[i].ID == other.ID {
				changes.Checks = append(changes.Checks, project.Edit[vigil.Check]{Before: &inv.Checks[i]})
			}
		}
		after := inv.Windows[0]
		after.Name = "Changed"
		changes.Windows = []project.Edit[maintenance.Window]{{Before: &inv.Windows[0], After: &after}}
		return changes, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left, err := s.MaintenanceWindow(t.Context(), org.ID, named.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, left.Scope.CheckIDs, []uuid.UUID{stays.ID})
	equal(t, left.Name, "Changed")
}
