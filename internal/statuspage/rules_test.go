// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// TestAnIncidentShowsWhatFiresNow: a warning of a certificate is no news for the public; the
// outage that begins in its incident is.
func TestAnIncidentShowsWhatFiresNow(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop", "Mail")
	incident := s.incident(t, s.check(0), vigil.KeySSLDaysRemaining, s.now().Add(-time.Hour), time.Time{}, newark)
	expires := map[string]any{"id": uuid.New(), "severity": "warning", "since": s.now().Add(-time.Hour), "opened": true, "beginnings": 1}
	fires := func(rules ...map[string]any) {
		text, err := json.Marshal(rules)
		ok(t, err)
		s.exec(t, "UPDATE incidents SET rules = ? WHERE id = ?", string(text), incident)
	}
	fires(expires)
	has(t, s.read(t, "/status/harbor"), "<h1>Everything works</h1>")

	down := map[string]any{"id": uuid.New(), "severity": "critical", "since": s.now(), "beginnings": 1, "failing": true}
	fires(expires, down)
	s.health(t, s.check(0), "unhealthy", frankfurt, singapore, newark)
	s.advance(time.Minute)
	if page := s.read(t, "/status/harbor"); strings.Contains(page, "<h1>Everything works</h1>") || !strings.Contains(page, "Shop") {
		t.Errorf("while the shop is down:\n%s", page)
	}
}
