// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// What pages may cost at rest: docs/benchmarks.md. Bytes are compressed, as they are sent to a browser of today.
const (
	mostElements = 3500     // of the overview
	mostBytes    = 60 << 10 // of a page with its files

	// browserAccepts is what browsers ask for over TLS, and for a page of the machine itself.
	browserAccepts = "gzip, deflate, br, zstd"
)

// elements counts the elements of a page.
func (a answer) elements(t *testing.T) (count int) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(a.text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			count++
		}
	}
	return count
}

// transferred is how many bytes a browser receives for a page that it has never seen, and of each of its files.
func (b *browser) transferred(t *testing.T, path string) (own int, files map[string]int) {
	t.Helper()
	page := b.get(t, http.StatusOK, path)
	files = make(map[string]int)
	for _, found := range regexp.MustCompile(`(?:src|href)="(/app/static/[^"]+)"`).FindAllStringSubmatch(page.text, -1) {
		path := found[1]
		if files[path] > 0 {
			continue
		}
		// The first browser that asks has the files made small for those that follow.
		timingtest.Eventually(t, time.Minute, "the file is compressed by Brotli", func() bool {
			file := b.get(t, http.StatusOK, path, "Accept-Encoding", browserAccepts)
			files[path] = len(file.text)
			return file.header.Get("Content-Encoding") == "br"
		})
	}
	if len(files) < 3 {
		t.Fatalf("the page has the files %v", files)
	}
	return len(b.get(t, http.StatusOK, path, "Accept-Encoding", browserAccepts).text), files
}

// atRest makes 1,000 checks with full strips, of which one has a day of results in three regions; its ID is returned.
func atRest(tb testing.TB) (b *browser, id string) {
	tb.Helper()
	s := open(tb, "")
	b, _ = s.signUp(tb)
	id = s.create(tb, b, "/v1/checks", `{"name":"Shop","type":"https","interval_seconds":60,
		"regions":["na-east-ewr","eu-central-fra","ap-southeast-sin"],"config":{"url":"https://shop.example.com/"}}`)
	for _, fill := range []string{
		`UPDATE checks SET created_at = created_at - interval '2 days', anchor = anchor - interval '2 days'`,
		`UPDATE check_regions SET start_at = start_at - interval '2 days', anchor = anchor - interval '2 days',
			counted_until = counted_until - interval '2 days'`,
		`CREATE TABLE more AS SELECT c.*, n FROM (SELECT * FROM checks LIMIT 1) AS c, generate_series(1, 999) AS n`,
		`INSERT INTO checks
				(id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision, created_at, updated_at)
			SELECT md5(n::text)::uuid, org_id, 'Page ' || n, type, config, target, interval_ms, regions, true, simultaneous, anchor, 1,
				created_at, updated_at FROM more`,
		`INSERT INTO check_regions (check_id, region, org_id, desired, active, start_at, anchor, interval_ms, counted_until)
			SELECT c.id, r.region, c.org_id, 1, true, c.anchor, c.anchor, c.interval_ms, c.anchor
			FROM checks AS c, unnest(c.regions) AS r (region) WHERE c.name <> 'Shop'`,
		`INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, status_code, metadata)
			SELECT r.check_id, r.region, date_trunc('minute', now()) - n * interval '1 minute', gen_random_uuid(),
				date_trunc('minute', now()) - n * interval '1 minute', false, n % 17 <> 3, 80 + n % 7 * 13 + random() * 40, 200,
				'{"timings": {"dns_ms": 1.5, "connect_ms": 3.25, "tls_ms": 12.5, "ttfb_ms": 40}, "ip": "192.0.2.7"}'
			FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id,
				generate_series(1, CASE WHEN c.name = 'Shop' THEN 1439 ELSE 59 END) AS n WHERE n % 29 <> 5`,
		`UPDATE check_regions SET last_slot = date_trunc('minute', now()), last_time = now(), last_scheduled = date_trunc('minute', now()),
			health = CASE WHEN check_id = md5('7')::uuid THEN 'unhealthy' ELSE 'healthy' END`,
		`ANALYZE checks, check_regions, results`,
	} {
		if _, err := s.store.DB().NewRaw(fill).Exec(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	return b, id
}

// TestPagesAtRest bounds the overview of 1,000 checks, and the page of a check in three regions with a full day in its
// chart and its table.
func TestPagesAtRest(t *testing.T) {
	t.Parallel()
	b, id := atRest(t)
	for _, one := range []struct{ path, shows string }{{"/app", "Page 1"}, {"/app/checks/" + id, "Show as table"}} {
		page := b.get(t, http.StatusOK, one.path)
		page.shows(t, one.shows)
		elements := page.elements(t)
		own, each := b.transferred(t, one.path)
		files := 0
		for _, bytes := range each {
			files += bytes
		}
		if one.path == "/app" {
			for _, path := range []string{`<path class="miss"`, `<path class="fail"`, `<path class="pass"`} {
				if strings.Count(page.text, path) < 100 {
					t.Errorf("only %d strips have %s", strings.Count(page.text, path), path)
				}
			}
		}
		t.Logf("%s: %d elements, %.1f KiB and files of %.1f KiB", one.path, elements, float64(own)/1024, float64(files)/1024)
		if elements >= mostElements {
			t.Errorf("%s has %d elements, it may have %d", one.path, elements, mostElements)
		}
		if own+files >= mostBytes {
			t.Errorf("%s has %d bytes and files of %d, compressed; it may have %d with them: %v", one.path, own, files, mostBytes, each)
		}
	}
}

// BenchmarkOverview loads the overview of 1,000 checks as a browser does, with the API and Postgres behind it.
func BenchmarkOverview(b *testing.B) {
	who, _ := atRest(b)
	who.get(b, http.StatusOK, "/app") // fills caches
	var first []time.Duration
	for b.Loop() {
		began := time.Now()
		trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { first = append(first, time.Since(began)) }}
		request, err := http.NewRequestWithContext(
			httptrace.WithClientTrace(b.Context(), trace),
			http.MethodGet,
			who.site.url+"/app",
			http.NoBody,
		)
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", browserAccepts)
		answer, err := who.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, answer.Body); err != nil || n < 10<<10 {
			b.Fatalf("a page of %d bytes, %v", n, err)
		}
		_ = answer.Body.Close()
	}
	slices.Sort(first)
	b.ReportMetric(float64(first[len(first)/2].Microseconds())/1000, "ms-to-first-byte/p50")
}
