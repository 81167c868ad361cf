// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// change edits the page of the site.
func (s *site) change(t *testing.T, edit func(*overview.StatusPage)) {
	t.Helper()
	_, err := s.store.UpdateStatusPage(t.Context(), s.page.OrgID, s.page.ID, func(p *overview.StatusPage) error {
		edit(p)
		return nil
	})
	ok(t, err)
	s.advance(31 * time.Second)
}

// TestGroupsHaveTheWorstState: a group is as bad as the worst of its services.
func TestGroupsHaveTheWorstState(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop", "Search", "Mail", "Chat")
	s.change(t, func(p *overview.StatusPage) {
		all := p.Groups[0].Checks
		p.Groups = []overview.StatusGroup{{Name: "Store", Checks: all[:2]}, {Name: "Messages", Checks: all[2:]}}
	})
	s.incident(t, s.check(1), vigil.KeyResponseTime, s.now().Add(-time.Hour), time.Time{}, newark)
	s.advance(31 * time.Second)
	has(t, s.read(t, "/status/harbor"), "<h2>Store</h2>", `class="mark slow"`, ">1 of 2 slow</span>", "<h2>Messages</h2>",
		`class="mark working"`, ">All working</span>")
	has(t, s.read(t, "/status/harbor.json"), `"name":"Store","state":"slow"`, `"name":"Messages","state":"working"`)
}

// TestAPageOfTwentyChecksIsSmall: less than 60 KiB before it is compressed, on a bad day of all of them.
func TestAPageOfTwentyChecksIsSmall(t *testing.T) {
	t.Parallel()
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("Service %d", i+1)
	}
	s := newSite(t, names...)
	for i := range names {
		start := s.now().Add(time.Duration(-i-1) * 26 * time.Hour)
		s.incident(t, s.check(i), vigil.KeyFailureThreshold, start, start.Add(20*time.Minute), frankfurt)
		s.exec(t, "UPDATE result_rollups SET successes = 40 WHERE check_id = ? AND hour = ?", s.check(i), start.Truncate(time.Hour))
	}
	page := s.read(t, "/status/harbor")
	if n := strings.Count(page, "Details of 1 day"); n != 20 {
		t.Errorf("%d services have a day with details, want 20", n)
	}
	if len(page) >= 60<<10 {
		t.Errorf("the page has %d bytes, want fewer than 60 KiB", len(page))
	}
	t.Logf("%d bytes", len(page))
}

// TestPolicyAllowsTheScript: the one script of a page is allowed by its digest, and nothing else is.
func TestPolicyAllowsTheScript(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	a := s.get(t, "/status/harbor")
	policy := a.header.Get("Content-Security-Policy")
	if a.status != http.StatusOK || strings.Count(a.body, "<script") != 1 || !strings.Contains(policy, "script-src 'sha256-") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	_, script, _ := strings.Cut(a.body, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	if want := "script-src " + digestOf(script); !strings.Contains(policy, want) {
		t.Errorf("policy %q, want %s", policy, want)
	}
}
