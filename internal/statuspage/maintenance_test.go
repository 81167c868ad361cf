// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// maintain stores a window that covers checks; its start is so far from the database's time.
func (s *site) maintain(t *testing.T, from time.Duration, rrule string, checks ...uuid.UUID) {
	t.Helper()
	now, err := s.store.Clock(t.Context())
	ok(t, err)
	_, err = s.store.CreateMaintenanceWindow(t.Context(), maintenance.Window{
		OrgID: s.page.OrgID, Name: secretNote, Scope: maintenance.Scope{CheckIDs: checks}, Enabled: true,
		Schedule: maintenance.Schedule{
			StartsAt: now.UTC().Add(from).Truncate(time.Second), Timezone: "UTC", Duration: time.Hour, RRule: rrule,
		},
		Probing: maintenance.ProbingContinue, Uptime: maintenance.UptimeExclude,
	})
	ok(t, err)
}

func TestPlannedMaintenanceIsAnnouncedWithoutItsName(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout", "Mail")
	now, err := s.store.Clock(t.Context())
	ok(t, err)
	s.advance(now.Sub(s.now()))
	s.maintain(t, -10*time.Minute, "FREQ=DAILY", s.check(0))
	s.maintain(t, 48*time.Hour, "", s.check(1), s.check(0))
	s.maintain(t, 15*24*time.Hour, "", s.check(1))
	page := s.read(t, "/status/harbor")
	has(t, page, "<h2>Maintenance</h2>", "<b>Checkout</b> · now, ", "<b>All services</b> · ")
	if n := strings.Count(page, "<time datetime"); n == 0 || strings.Contains(page, "<b>Mail</b>") {
		t.Error("maintenance that is far away is shown")
	}
	feed := s.read(t, "/status/harbor.json")
	if n := strings.Count(feed, `"ends_at"`); n != 3 {
		t.Errorf("%d spans in %s", n, feed)
	}
	has(t, feed, `"services":["Checkout","Mail"]`)
}
