// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// TestWhatBeganEnds holds that who was notified of a beginning is notified of its end, once, also when what began is gone:
// maintenance that is deleted while it runs, a check that is deleted or taken off the page; and however long it took.
func TestWhatBeganEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begin        func(t *testing.T, s *site)
		gone         func(t *testing.T, s *site)
		begins, ends string
	}{
		"MaintenanceIsDeleted": {
			func(t *testing.T, s *site) {
				t.Helper()
				now, err := s.store.Clock(t.Context())
				ok(t, err)
				s.advance(now.Sub(s.now()))
				s.maintain(t, 0, "", s.check(0))
			},
			func(t *testing.T, s *site) {
				t.Helper()
				var id uuid.UUID
				ok(t, s.store.DB().NewRaw("SELECT id FROM maintenance_windows").Scan(t.Context(), &id))
				ok(t, s.store.DeleteMaintenanceWindow(t.Context(), s.page.OrgID, id, nil))
			},
			"Maintenance of Checkout", "Maintenance of Checkout is over",
		},
		"CheckIsTakenOff": {
			fails,
			func(t *testing.T, s *site) {
				t.Helper()
				s.change(t, func(p *overview.StatusPage) { p.Groups = []overview.StatusGroup{{Checks: p.Groups[0].Checks[1:]}} })
			},
			"Checkout is failing", "No longer shown: Checkout is failing",
		},
		"CheckIsDeleted": {
			fails,
			func(t *testing.T, s *site) {
				t.Helper()
				s.exec(t, "DELETE FROM checks WHERE id = ?", s.check(0))
			},
			"Checkout is failing", "No longer shown: Checkout is failing",
		},
		"AnIncidentTakesThreeDays": {fails, resolvesAfter(72 * time.Hour), "Checkout is failing", "Checkout works again"},
		"AnIncidentTakesSixWeeks":  {fails, resolvesAfter(42 * 24 * time.Hour), "Checkout is failing", "Checkout works again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "Checkout", "Mail")
			s.open(t)
			s.subscribes(t, "reader@example.com")
			test.begin(t, s)
			s.advance(time.Second)
			if letters := s.tell(t); len(letters) != 1 || letters[0].Subject != "Harbor: "+test.begins {
				t.Fatalf("the beginning: %+v", letters)
			}
			test.gone(t, s)
			s.advance(time.Minute)
			if letters := s.tell(t); len(letters) != 1 || letters[0].Subject != "Harbor: "+test.ends {
				t.Errorf("the end: %+v", letters)
			}
			s.advance(time.Minute)
			if again := s.tell(t); len(again) != 0 {
				t.Errorf("notified twice: %+v", again)
			}
		})
	}
}

// fails opens an incident of the first check.
func fails(t *testing.T, s *site) {
	t.Helper()
	s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now(), time.Time{}, newark)
}

func resolvesAfter(d time.Duration) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		s.advance(d)
		s.exec(t, "UPDATE incidents SET status = 'resolved', resolved_at = ?", s.now())
	}
}

// TestManyIncidentsHideNoOpenOne: the bound of a report leaves out what ended first.
func TestManyIncidentsHideNoOpenOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout", "Mail")
	open := s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now().AddDate(0, 0, -10), time.Time{}, newark)
	for i := range overview.MaxReportedIncidents {
		end := s.now().Add(-time.Duration(i) * time.Minute)
		s.incident(t, s.check(1), vigil.KeyFailureThreshold, end.Add(-30*time.Second), end, newark)
	}
	report, err := s.store.StatusReport(t.Context(), "harbor", s.now().AddDate(0, 0, -1))
	ok(t, err)
	if n := len(report.Incidents); n != overview.MaxReportedIncidents || report.Incidents[n-1].ID != open {
		t.Errorf("%d incidents, the first to begin is %+v, want the open one", n, report.Incidents[n-1])
	}
}
