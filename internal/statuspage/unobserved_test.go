// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"strings"
	"testing"
	"time"
)

// TestWhatIsNotCheckedDoesNotWork: results that are older than three intervals and the deadline
// say nothing of today.
func TestWhatIsNotCheckedDoesNotWork(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop", "Mail")
	shop, mail := s.check(0), s.check(1)
	stop := "UPDATE check_regions SET last_slot = ?0, last_time = ?0, next_due = ?0 WHERE check_id = ?1 AND region = ANY(?2::text[])"
	s.exec(t, stop, s.now().Add(-time.Hour), shop, "{"+newark+"}")
	has(t, s.read(t, "/status/harbor"), "<h1>Everything works</h1>", "Checked from North America, Europe and Asia Pacific.")

	s.exec(t, stop, s.now().Add(-time.Hour), shop, "{"+newark+","+frankfurt+","+singapore+"}")
	s.advance(time.Minute)
	has(t, s.read(t, "/status/harbor"), "<h1>No recent data for Shop</h1>", "Everything else works.")
	has(t, s.read(t, "/status/harbor.json"), `"no-data"`)
	has(t, s.read(t, "/badge/"+shop.String()+".svg"), "Shop: no")

	s.exec(t, stop, s.now().Add(-time.Hour), mail, "{"+newark+","+frankfurt+","+singapore+"}")
	s.advance(time.Minute)
	has(t, s.read(t, "/status/harbor"), "<h1>No recent data</h1>", "The last results are too old to say what works.")
}

// TestAPausedCheckIsShownAsPaused: it is not checked, so it does not work, and it has no
// figure.
func TestAPausedCheckIsShownAsPaused(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop", "Mail")
	s.exec(t, "UPDATE checks SET enabled = false WHERE id = ?", s.check(0))
	has(t, s.read(t, "/status/harbor"), "<h1>Everything works</h1>", "Shop is paused. Checked from", ">Working</span>", ">Paused</span>")
	has(t, s.read(t, "/status/harbor.json"), `"paused":false`, `"paused":true`)
	has(t, s.read(t, "/badge/"+s.check(0).String()+".svg"), "Shop: paused")

	s.exec(t, "UPDATE checks SET enabled = false WHERE id = ?", s.check(1))
	s.advance(time.Minute)
	has(t, s.read(t, "/status/harbor"), "<h1>Paused</h1>", "Nothing is checked at the moment.")
}

// TestAHeartbeatIsInNoPlace: a heartbeat is not checked from any place, so the page names none.
func TestAHeartbeatIsInNoPlace(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Backup")
	s.exec(t, "UPDATE checks SET type = 'heartbeat'")
	s.exec(t, "DELETE FROM check_regions WHERE check_id = ? AND region <> ?", s.check(0), newark)
	s.exec(t, "UPDATE check_regions SET region = 'heartbeat' WHERE check_id = ?", s.check(0))
	page := s.read(t, "/status/harbor")
	has(t, page, "<h1>Everything works</h1>")
	s.health(t, s.check(0), "unhealthy", "heartbeat")
	s.advance(time.Minute)
	failing := s.read(t, "/status/harbor")
	has(t, failing, "<h1>Backup is failing</h1>")
	for _, text := range []string{page, failing} {
		if strings.Contains(text, "hecked from") || strings.Contains(text, "heartbeat") || strings.Contains(text, "some regions") {
			t.Errorf("the page names a place: %s", text)
		}
	}
}
