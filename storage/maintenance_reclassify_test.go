// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// reclassifyAll marks the results of all spans that wait for it, due or not.
func reclassifyAll(t *testing.T, s *storage.Store) int {
	t.Helper()
	leases := renewSweep(t, s, "test", time.Hour)
	var rows []struct {
		CheckID uuid.UUID `bun:"check_id"`
		Region  string    `bun:"region"`
		From    time.Time `bun:"from_at"`
		To      time.Time `bun:"to_at"`
		Due     time.Time `bun:"due_at"`
	}
	if err := s.DB().NewRaw("SELECT * FROM result_reclassifications").Scan(t.Context(), &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := s.Reclassify(t.Context(), leases[fleet.SweepShard(row.CheckID)], vigil.ResultSpan(row)); err != nil {
			t.Fatal(err)
		}
	}
	return len(rows)
}

// TestChangedMaintenanceMarksStoredResults changes windows over results of the last hours.
func TestChangedMaintenanceMarksStoredResults(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	org, _ := newOrg(t, s)
	covered, other := newCheck(t, s, draft(org.ID, newark, frankfurt)), newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	now := time.Now().Truncate(time.Second)
	for i := range 18 { // every 10 minutes of the last three hours
		slot := now.Add(-time.Duration(i) * 10 * time.Minute)
		write(t, w, failed(covered, newark, slot), ok(covered, frankfurt, slot), failed(other, newark, slot))
	}
	marked := func(want int64) {
		t.Helper()
		if n := count(t, s, "SELECT count(*) FROM results WHERE excluded = 1 AND check_id = ?", covered.ID); n != want {
			t.Errorf("%d results are marked, want %d", n, want)
		}
		if n := count(t, s, "SELECT sum(excluded) FROM result_rollups WHERE check_id = ?", covered.ID); n != want {
			t.Errorf("%d results are in rollups as marked, want %d", n, want)
		}
		if n := count(t, s, "SELECT count(*) FROM results WHERE excluded = 1 AND check_id = ?", other.ID); n != 0 {
			t.Errorf("%d results of another check are marked", n)
		}
	}
	change := func(id uuid.UUID, edit func(*maintenance.Window)) {
		t.Helper()
		_, err := s.UpdateMaintenanceWindow(t.Context(), org.ID, id, func(w *maintenance.Window) error { edit(w); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	window, err := s.CreateMaintenanceWindow(t.Context(), maintenance.Window{
		OrgID: org.ID, Name: "past", Scope: maintenance.Scope{CheckIDs: []uuid.UUID{covered.ID}}, Enabled: true,
		Schedule: maintenance.Schedule{
			StartsAt: now.UTC().Add(-90 * time.Minute), Timezone: "UTC", Duration: 30 * time.Minute,
		},
		Probing: maintenance.ProbingContinue, Uptime: maintenance.UptimeExclude,
	})
	if err != nil {
		t.Fatal(err)
	}
	marked(0)
	if n := reclassifyAll(t, s); n != 2 {
		t.Errorf("%d spans, want one of each region", n)
	}
	marked(6) // at -90, -80 and -70 minutes

	change(window.ID, func(w *maintenance.Window) { w.Name = "renamed" })
	if n := reclassifyAll(t, s); n != 0 {
		t.Errorf("%d spans after another name", n)
	}
	change(window.ID, func(w *maintenance.Window) { w.Duration = time.Hour })
	reclassifyAll(t, s)
	marked(12)
	change(window.ID, func(w *maintenance.Window) { w.Uptime = maintenance.UptimeInclude })
	reclassifyAll(t, s)
	marked(0)
	change(window.ID, func(w *maintenance.Window) { w.Uptime = maintenance.UptimeExclude; w.Duration = 3 * time.Hour })
	reclassifyAll(t, s)
	marked(20)
	if _, err := s.EndMaintenance(t.Context(), org.ID, window.ID, nil); err != nil {
		t.Fatal(err)
	}
	reclassifyAll(t, s)
	marked(20)
	if err := s.DeleteMaintenanceWindow(t.Context(), org.ID, window.ID, nil); err != nil {
		t.Fatal(err)
	}
	reclassifyAll(t, s)
	marked(20) // what it was stays
}

// TestDueReclassifications waits until workers know a change.
func TestDueReclassifications(t *testing.T) {
	t.Parallel()
	s, clock := newMaintenanceStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, epoch()))
	execute(t, s, "INSERT INTO result_reclassifications VALUES (?, ?, ?, ?, ?)",
		c.ID, newark, epoch(), epoch().Add(time.Hour), epoch().Add(5*time.Second))
	due := func(after time.Duration) []vigil.ResultSpan {
		t.Helper()
		clock.Set(epoch().Add(after))
		spans, err := s.DueReclassifications(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return spans
	}
	if early := due(5*time.Second - time.Microsecond); len(early) != 0 {
		t.Errorf("too early: %+v", early)
	}
	spans := due(5 * time.Second)
	if len(spans) != 1 || spans[0].CheckID != c.ID || spans[0].Region != newark || !spans[0].From.Equal(epoch()) {
		t.Fatalf("due %+v", spans)
	}
	leases := renewSweep(t, s, "test", time.Hour)
	lease := leases[fleet.SweepShard(c.ID)]
	if err := s.PutOffReclassification(t.Context(), lease, spans[0]); err != nil || len(due(time.Minute)) != 0 {
		t.Errorf("put off: %v", err)
	}
	// It is changed again while it is marked: it stays for another time.
	if err := s.Reclassify(t.Context(), lease, spans[0]); err != nil || len(due(2*time.Minute)) != 1 {
		t.Errorf("marked although it was changed: %v", err)
	}
	if err := s.Reclassify(t.Context(), lease, due(2 * time.Minute)[0]); err != nil || len(due(2*time.Minute)) != 0 {
		t.Errorf("marked: %v", err)
	}
}
