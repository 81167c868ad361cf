// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// harbor is the site of the example: Checkout fails in two of three regions, Search is
// slow, and there were two incidents before.
func harbor(t *testing.T) *site {
	t.Helper()
	s := newSite(t, "Payments", "Checkout", "Website", "Search", "Mail")
	checkout, search := s.check(1), s.check(3)
	at := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, time.UTC)
	}
	s.watch(t, checkout)
	s.health(t, checkout, "unhealthy", frankfurt, singapore)
	s.incident(t, checkout, vigil.KeyFailureThreshold, at(11, 21, 11, 59), time.Time{}, frankfurt)
	s.incident(t, search, vigil.KeyResponseTime, at(11, 21, 11, 51), time.Time{}, newark)
	s.incident(t, checkout, vigil.KeyFailureThreshold, at(11, 20, 21, 50), at(11, 20, 22, 20), frankfurt, singapore)
	s.incident(t, checkout, vigil.KeyHealthStatus, at(11, 2, 8, 40), at(11, 2, 8, 59), frankfurt, singapore, newark)
	s.incident(t, checkout, vigil.KeyFailureThreshold, at(9, 2, 8, 40), at(9, 2, 8, 59), frankfurt)
	s.incident(t, s.check(2), vigil.KeySSLDaysRemaining, at(11, 3, 8, 40), at(11, 3, 8, 59), frankfurt)
	fail := "UPDATE result_rollups SET successes = ? WHERE check_id = ? AND hour = ?"
	s.exec(t, fail, 45, checkout, at(11, 20, 21, 0))
	s.exec(t, fail, 45, checkout, at(11, 20, 22, 0))
	s.exec(t, fail, 41, checkout, at(11, 2, 8, 0))
	s.exec(t, fail, 59, checkout, at(11, 21, 11, 0))
	return s
}

func TestPage(t *testing.T) {
	t.Parallel()

	t.Run("SaysWhatFailsSinceWhenAndFromWhere", func(t *testing.T) {
		t.Parallel()
		page := harbor(t).read(t, "/status/harbor")
		if file := os.Getenv("VIGIL_STATUS_PAGE_FILE"); file != "" {
			ok(t, os.WriteFile(file, []byte(page), 0o600))
		}
		has(
			t,
			page,
			"<title>Checkout is failing in some regions · Harbor</title>",
			">Harbor<",
			"21 Nov 2026, 12:00 UTC",
			"<h1>Checkout is failing in some regions</h1>",
			"Since 11:59 UTC, seen from Europe and Asia Pacific. Search is slow. Everything else works.",
			"Checkout</span>",
			"Failing since 11:59",
			"99.95 % up",
			"Search</span>",
			"Slow since 11:51",
			"Payments</span>",
			"Working",
			"100 % up",
			"Website</span>",
			"Mail</span>",
			"<h2>Incidents</h2>",
			"<h3>20 November</h3>",
			"<b>Checkout was failing</b> · 21:50 to 22:20 UTC, 30 min · from Europe and Asia Pacific",
			"<h3>2 November</h3>",
			"<b>Checkout was failing</b> · 08:40 to 08:59 UTC, 19 min · from all regions",
			"<summary>Earlier incidents",
			"<h3>2 September</h3>",
			"Watched by Vigil",
		)
		has(t, page, `data-none="0-8"`, "Details of 4 days", `<li data-day="89">`, "99.87 % up, down less than 1 min", "since 11:59 UTC",
			`<li data-day="88">`, "<b>20 November</b> 97.91 % up, down about 30 min", `<a href="#i-`, "21:50 to 22:20 UTC, 30 min</a>")
		has(t, page, `aria-label="99.95 % up in the last 90 days; failures on 2 November, 20 November and 21 November"`)
		for _, absent := range []string{"<b>Website", "3 November", "style=", "http-equiv", "onclick"} {
			if strings.Contains(page, absent) {
				t.Errorf("the page has %q", absent)
			}
		}
	})

	t.Run("SaysThatEverythingWorks", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "Shop", "Mail")
		s.watch(t, s.check(0))
		s.health(t, s.check(0), "unhealthy", newark) // no incident yet
		has(t, s.read(t, "/status/harbor"), "<h1>Everything works</h1>", "Checked from North America, Europe and Asia Pacific.",
			"None in the last 30 days.")
	})

	t.Run("GoesByTheNewestResultsWithoutARule", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "Shop", "Mail")
		s.health(t, s.check(0), "unhealthy", newark, frankfurt, singapore)
		has(t, s.read(t, "/status/harbor"), "<h1>Shop is failing</h1>",
			"Seen from North America, Europe and Asia Pacific. Everything else works.")
	})

	t.Run("HasNoDataOfAPausedCheck", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "Shop")
		s.exec(t, "UPDATE checks SET enabled = false")
		has(t, s.read(t, "/status/harbor"), "<h1>Paused</h1>", "Shop</span>", ">Paused</span>")
	})

	t.Run("ShowsUpdatesOfPeople", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "Shop")
		open := s.incident(t, s.check(0), vigil.KeySSLDaysRemaining, s.at.Add(-time.Hour), time.Time{}, newark)
		for _, u := range []overview.IncidentUpdate{
			{State: overview.UpdateInvestigating, Text: "We look <into> it."}, {State: overview.UpdateMonitoring, Text: "Fixed.\nWe watch."},
		} {
			u.OrgID, u.IncidentID, u.Author = s.page.OrgID, open, "ada@example.com"
			_, _, err := s.store.CreateIncidentUpdate(t.Context(), u, "")
			ok(t, err)
			s.advance(time.Second)
		}
		has(t, s.read(t, "/status/harbor"), "<h2>Shop <small>since 11:00 UTC", "<b>Monitoring</b>", "Fixed.\nWe watch.",
			"<b>Investigating</b>", "We look &lt;into&gt; it.")
	})

	t.Run("IsGoneWhenItIsClosed", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, "Shop")
		badge := "/badge/" + s.check(0).String() + ".svg"
		s.read(t, badge)
		_, err := s.store.UpdateStatusPage(t.Context(), s.page.OrgID, s.page.ID, func(p *overview.StatusPage) error {
			p.Enabled = false
			return nil
		})
		ok(t, err)
		s.advance(31 * time.Second)
		for _, path := range []string{
			"/status/harbor", "/status/harbor.json", "/status/harbor.atom", badge, "/status/other", "/status/harbor.xml",
			"/badge/" + uuid.NewString() + ".svg", "/badge/x.svg", "/badge/" + s.check(0).String(),
		} {
			a := s.get(t, path)
			if a.status != http.StatusNotFound || a.header.Get("Cache-Control") != "no-store" || strings.Contains(a.body, "Harbor") {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
	})
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	page := s.get(t, "/status/harbor")
	policy := page.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "style-src 'sha256-") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s", policy)
	}
	for path, want := range map[string]struct{ kind, origin string }{
		"/status/harbor":                         {"text/html; charset=utf-8", ""},
		"/status/harbor.json":                    {"application/json", "*"},
		"/status/harbor.atom":                    {"application/atom+xml; charset=utf-8", ""},
		"/badge/" + s.check(0).String() + ".svg": {"image/svg+xml", "*"},
	} {
		a := s.get(t, path)
		tag := a.header.Get("ETag")
		if a.header.Get("Content-Type") != want.kind || a.header.Get("Access-Control-Allow-Origin") != want.origin ||
			a.header.Get("Cache-Control") != "public, max-age=30" || (len(tag) != 18 && len(tag) != 21) || a.header.Get("X-Robots-Tag") != "" {
			t.Errorf("%s: %v", path, a.header)
		}
		if a.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s varies by %q", path, a.header.Values("Vary"))
		}
		if same := s.get(t, path, "If-None-Match", `"x", W/`+tag); same.status != http.StatusNotModified || same.body != "" ||
			same.header.Get("ETag") != tag {
			t.Errorf("%s: %d %q", path, same.status, same.body)
		}
		if other := s.get(t, path, "If-None-Match", `"x"`); other.status != http.StatusOK {
			t.Errorf("%s with another tag: %d", path, other.status)
		}
	}
	_, err := s.store.UpdateStatusPage(t.Context(), s.page.OrgID, s.page.ID, func(p *overview.StatusPage) error {
		p.NoIndex = true
		return nil
	})
	ok(t, err)
	s.advance(31 * time.Second)
	hidden := s.get(t, "/status/harbor")
	if hidden.header.Get("X-Robots-Tag") != "noindex" || !strings.Contains(hidden.body, `name="robots" content="noindex"`) {
		t.Errorf("noindex: %v", hidden.header)
	}
}

// TestManyReaders tests that readers share what is read, whether they come at the same time
// or one after the other.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop", "Mail")
	const readers, each = 50, 20
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for range each {
				for _, path := range []string{"/status/harbor", "/status/harbor.json", "/badge/" + s.check(1).String() + ".svg"} {
					if a := s.get(t, path); a.status != http.StatusOK {
						t.Errorf("%s: %d", path, a.status)
					}
				}
			}
		})
	}
	all.Wait()
	if n, days := s.reads.reports.Load(), s.reads.days.Load(); n != 1 || days != 2 {
		t.Errorf("%d answers took %d reports and %d sums of days, want 1 and 2", 3*readers*each, n, days)
	}
	s.advance(31 * time.Second)
	s.read(t, "/status/harbor")
	if n, days := s.reads.reports.Load(), s.reads.days.Load(); n != 2 || days != 3 {
		t.Errorf("the next page takes %d reports and %d sums of days, want 2 and 3: the past is kept", n, days)
	}
}

// TestPathsThatAreNoPage tests that the store is asked for texts only that can be a slug.
func TestPathsThatAreNoPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	s.reads.away.Store(true)
	for _, path := range []string{
		"/status/%00", "/status/%ff", "/status/a%00b.json", "/status/%C3.atom", "/status/a%20b", "/status/" + strings.Repeat("a", 64),
		"/status/-a", "/status/A", "/badge/%00.svg", "/badge/%ff", "/status/",
	} {
		if a := s.get(t, path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// TestPageWithoutTheStore tests that the last page is shown while Postgres is away.
func TestPageWithoutTheStore(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	before := s.read(t, "/status/harbor")
	s.reads.away.Store(true)
	s.advance(10 * time.Minute)
	if after := s.read(t, "/status/harbor"); after != before {
		t.Error("the page has changed")
	}
	s.advance(time.Hour)
	if a := s.get(t, "/status/harbor"); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("after an hour: %d %v", a.status, a.header)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := harbor(t)

	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		var body struct {
			Data struct {
				State, Headline string
				Groups          []struct {
					Services []struct {
						Name, State string
						FailingFrom []string     `json:"failing_from"`
						Uptime      *json.Number `json:"uptime_percentage"`
						Days        []struct {
							Date   string
							Uptime *json.Number `json:"uptime_percentage"`
						}
					}
				}
				Incidents []struct{ Title string }
			}
		}
		ok(t, json.Unmarshal([]byte(s.read(t, "/status/harbor.json")), &body))
		services := body.Data.Groups[0].Services
		first := services[0]
		if body.Data.State != "failing" || first.Name != "Checkout" || strings.Join(first.FailingFrom, ",") != "Europe,Asia Pacific" ||
			first.Uptime.String() != "99.95" || services[2].Uptime.String() != "100" || len(body.Data.Incidents) != 4 {
			t.Errorf("%+v", body)
		}
		days := first.Days
		if len(days) != 90 || days[0].Date != "2026-08-24" || days[0].Uptime != nil ||
			days[89].Date != "2026-11-21" || days[88].Uptime.String() != "97.91" {
			t.Errorf("days %+v", days)
		}
	})

	t.Run("Atom", func(t *testing.T) {
		t.Parallel()
		type link struct {
			Rel  string `xml:"rel,attr"`
			Href string `xml:"href,attr"`
		}
		var feed struct {
			XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
			ID      string   `xml:"id"`
			Title   string   `xml:"title"`
			Updated string   `xml:"updated"`
			Author  string   `xml:"author>name"`
			Links   []link   `xml:"link"`
			Entries []struct {
				ID      string `xml:"id"`
				Title   string `xml:"title"`
				Updated string `xml:"updated"`
				Link    link   `xml:"link"`
				Content string `xml:"content"`
			} `xml:"entry"`
		}
		ok(t, xml.Unmarshal([]byte(s.read(t, "/status/harbor.atom")), &feed))
		if feed.ID != "urn:uuid:"+s.page.ID.String() || feed.Title != "Harbor" || feed.Author != "Harbor" || len(feed.Entries) != 4 ||
			feed.Links[0].Rel != "self" || feed.Links[0].Href != "https://vigil.example.com/status/harbor.atom" {
			t.Errorf("%+v", feed)
		}
		updated, err := time.Parse(time.RFC3339, feed.Updated)
		ok(t, err)
		ids := make(map[string]bool)
		for _, entry := range feed.Entries {
			at, err := time.Parse(time.RFC3339, entry.Updated)
			if err != nil || at.After(updated) || ids[entry.ID] || !strings.HasPrefix(entry.ID, "urn:uuid:") ||
				entry.Content == "" || entry.Link.Href == "" {
				t.Errorf("entry %+v, %v", entry, err)
			}
			ids[entry.ID] = true
		}
		if feed.Entries[2].Title != "Checkout was failing" || !strings.Contains(feed.Entries[2].Content, "20 November 2026, 21:50 UTC to") {
			t.Errorf("entry %+v", feed.Entries[2])
		}
	})

	t.Run("Badge", func(t *testing.T) {
		t.Parallel()
		for i, want := range map[int]string{0: "Payments: working", 1: "Checkout: failing", 3: "Search: slow"} {
			badge := s.read(t, "/badge/"+s.check(i).String()+".svg")
			has(t, badge, `aria-label="`+want+`"`)
			ok(t, xml.Unmarshal([]byte(badge), &struct {
				XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
			}{}))
		}
	})
}
