// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage"
)

// newWindow stores a window that covers a check. It starts so far from the database's time.
func newWindow(tb testing.TB, s *storage.Store, check *vigil.Check, from time.Duration, rrule string) maintenance.Status {
	tb.Helper()
	now, err := s.Clock(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	stored, err := s.CreateMaintenanceWindow(tb.Context(), windowOf(check, now.Add(from), rrule))
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

// windowOf is a window of an hour that covers a check.
func windowOf(check *vigil.Check, start time.Time, rrule string) maintenance.Window {
	return maintenance.Window{
		OrgID: check.OrgID, Name: "Upgrade", Scope: maintenance.Scope{CheckIDs: []uuid.UUID{check.ID}}, Enabled: true,
		Schedule: maintenance.Schedule{
			StartsAt: start.UTC().Truncate(time.Second), Timezone: "UTC", Duration: time.Hour, RRule: rrule,
		},
		Probing: maintenance.ProbingContinue, Uptime: maintenance.UptimeExclude,
	}
}

// windowSpans are the occurrences of all windows, removed ones left out.
func windowSpans(tb testing.TB, s *storage.Store) []maintenance.Span {
	tb.Helper()
	far := time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
	all, _, err := s.MaintenanceSpans(tb.Context(), time.Time{}, far, "")
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// changeRows runs a statement that no method of the store has.
func changeRows(tb testing.TB, s *storage.Store, statement string) {
	tb.Helper()
	if _, err := s.DB().ExecContext(tb.Context(), statement); err != nil {
		tb.Fatal(err)
	}
}

func TestWhatHasEndedStaysWhenARecurringWindowMoves(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	check := newCheck(t, s, draft(org.ID, newark))
	window := newWindow(t, s, &check, -48*time.Hour-30*time.Minute, "FREQ=DAILY;COUNT=5")
	before := windowSpans(t, s)
	if len(before) != 5 || window.State != maintenance.Active || len(window.Next) != 2 {
		t.Fatalf("%d spans, %+v", len(before), window)
	}
	moved, err := s.UpdateMaintenanceWindow(t.Context(), org.ID, window.ID, func(w *maintenance.Window) error {
		w.StartsAt = w.StartsAt.Add(-3 * time.Hour)
		return nil
	})
	if err != nil || moved.State != maintenance.Upcoming {
		t.Fatalf("moved to %+v, %v", moved, err)
	}
	after := windowSpans(t, s)
	if len(after) != 5 || after[0].Occurrence != before[0].Occurrence || after[1].Occurrence != before[1].Occurrence {
		t.Errorf("what has ended is %v, want %v", after[:2], before[:2])
	}
	if !after[2].EndsAt.Before(before[2].EndsAt) || !after[2].StartsAt.Equal(before[2].StartsAt) {
		t.Errorf("the occurrence that ran is %v, was %v", after[2], before[2])
	}
}

func TestAWindowThatOccursOnceMovesItsPast(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	check := newCheck(t, s, draft(org.ID, newark))
	window := newWindow(t, s, &check, -48*time.Hour, "")
	far := time.Now().Add(time.Hour)
	_, cursor, err := s.MaintenanceSpans(t.Context(), time.Time{}, far, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateMaintenanceWindow(t.Context(), org.ID, window.ID, func(w *maintenance.Window) error {
		w.StartsAt = w.StartsAt.Add(-time.Hour)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if left := windowSpans(t, s); len(left) != 1 || !left[0].StartsAt.Equal(window.StartsAt.Add(-time.Hour)) {
		t.Errorf("spans %v", left)
	}
	changes, cursor, err := s.MaintenanceSpans(t.Context(), time.Time{}, far, cursor)
	if err != nil || len(changes) != 2 || changes[0].Removed || !changes[1].Removed {
		t.Errorf("changes %v, %v", changes, err)
	}
	if again, _, err := s.MaintenanceSpans(t.Context(), time.Time{}, far, cursor); err != nil || len(again) != 0 {
		t.Errorf("read again: %v, %v", again, err)
	}
}

func TestADeletedWindowEndsAndIsNotFound(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	check := newCheck(t, s, draft(org.ID, newark))
	window := newWindow(t, s, &check, -30*time.Minute, "FREQ=DAILY")
	now, err := s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inside, err := s.CheckMaintenance(t.Context(), org.ID, now, check.ID)
	if err != nil || len(inside[check.ID]) != 1 || inside[check.ID][0].WindowID != window.ID {
		t.Fatalf("in maintenance: %v, %v", inside, err)
	}
	err = s.DeleteMaintenanceWindow(t.Context(), org.ID, window.ID, vigil.Precondition{7})
	if vigil.ErrorCode(err) != vigil.CodePrecondition {
		t.Errorf("another revision: %v", err)
	}
	if err := s.DeleteMaintenanceWindow(t.Context(), org.ID, window.ID, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MaintenanceWindow(t.Context(), org.ID, window.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("found: %v", err)
	}
	now, err = s.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if left := windowSpans(t, s); len(left) != 1 || left[0].EndsAt.After(now) {
		t.Errorf("spans %v", left)
	}
	if inside, err = s.CheckMaintenance(t.Context(), org.ID, now, check.ID); err != nil || len(inside) != 0 {
		t.Errorf("in maintenance: %v, %v", inside, err)
	}
}

func TestHousekeepingStoresOccurrencesAhead(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	check := newCheck(t, s, draft(org.ID, newark))
	window := newWindow(t, s, &check, -30*time.Minute, "FREQ=DAILY")
	whole := windowSpans(t, s)
	if len(whole) != maintenance.MaxOccurrences {
		t.Fatalf("%d spans", len(whole))
	}
	changeRows(t, s, "DELETE FROM maintenance_occurrences WHERE starts_at > now() + interval '300 days'")
	changeRows(t, s, "UPDATE maintenance_occurrences SET ends_at = ends_at + interval '1 hour' "+
		"WHERE starts_at BETWEEN now() AND now() + interval '2 days'")
	changeRows(t, s, "UPDATE maintenance_occurrences SET starts_at = starts_at + interval '7 minutes' "+
		"WHERE starts_at > now() + interval '299 days'")
	if err := s.ExtendMaintenance(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(windowSpans(t, s)); n > 310 {
		t.Fatalf("extended at once to %d", n)
	}
	changeRows(t, s, "UPDATE maintenance_windows SET extended_at = now() - interval '21 hours'")
	if _, err := s.EndMaintenance(t.Context(), org.ID, window.ID, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.ExtendMaintenance(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := windowSpans(t, s)
	if len(again) < maintenance.MaxOccurrences || again[0].EndsAt.Equal(whole[0].EndsAt) {
		t.Fatalf("%d spans, the first %v", len(again), again[0])
	}
	for i := range whole[1:] {
		if again[i+1].Occurrence != whole[i+1].Occurrence {
			t.Fatalf("occurrence %d is %v, want %v", i+1, again[i+1].Occurrence, whole[i+1].Occurrence)
		}
	}
	if err := s.DropExpired(t.Context(), clk.Now(), storage.DefaultRetention()); err != nil {
		t.Error(err)
	}
}

func TestOnlyThePlansOfPaidTiersMaintainAllChecks(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	check := newCheck(t, s, draft(org.ID, newark))
	window := newWindow(t, s, &check, time.Hour, "")
	all := func(w *maintenance.Window) error {
		w.Scope = maintenance.Scope{All: true}
		return nil
	}
	if _, err := s.UpdateMaintenanceWindow(t.Context(), org.ID, window.ID, all); vigil.ErrorCode(err) != vigil.CodePlanLimit {
		t.Errorf("on the free plan: %v", err)
	}
}
