// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/vigil-monitor/vigil/internal/overview"
)

// TestAPassword: everything of the page is behind it, for people by a form and for programs by HTTP Basic.
func TestAPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	hash, err := argon2id.CreateHash(
		"open sesame",
		&argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32},
	)
	ok(t, err)
	_, err = s.store.SetStatusPassword(t.Context(), s.page.OrgID, s.page.ID, hash)
	ok(t, err)
	badge := "/badge/" + s.check(0).String()
	for path, want := range map[string]int{
		"/status/harbor": 401, "/status/harbor.json": 401, "/status/harbor.atom": 401, "/status/harbor/logo": 401, badge + ".svg": 404,
		badge + "/uptime-7d.svg": 404,
	} {
		if a := s.get(t, path); a.status != want || strings.Contains(a.body, "Everything works") || a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
	if a := s.post(t, "/status/harbor/password", url.Values{"password": {"sesame"}}); a.status != http.StatusForbidden ||
		a.header.Get("Set-Cookie") != "" || !strings.Contains(a.body, "That is not the password.") {
		t.Errorf("a wrong one: %d", a.status)
	}
	right := s.post(t, "/status/harbor/password", url.Values{"password": {"open sesame"}})
	cookie, _, _ := strings.Cut(right.header.Get("Set-Cookie"), ";")
	if right.status != http.StatusSeeOther || right.header.Get("Location") != "/status/harbor" || cookie == "" ||
		!strings.Contains(right.header.Get("Set-Cookie"), "HttpOnly; Secure; SameSite=Lax") {
		t.Fatalf("the right one: %d %v", right.status, right.header)
	}
	for _, path := range []string{"/status/harbor", "/status/harbor.json", badge + ".svg"} {
		a := s.get(t, path, "Cookie", cookie)
		if a.status != http.StatusOK || a.header.Get("Cache-Control") != "private, no-cache" ||
			a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s with the cookie: %d %v", path, a.status, a.header)
		}
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("feed:open sesame"))
	if a := s.get(t, "/status/harbor.atom", "Authorization", basic); a.status != http.StatusOK {
		t.Errorf("a feed reader: %d", a.status)
	}
	if a := s.get(t, "/status/harbor", "Cookie", cookie[:len(cookie)-1]); a.status != http.StatusUnauthorized {
		t.Errorf("a cookie that was changed: %d", a.status)
	}
	for range 12 {
		right = s.post(t, "/status/harbor/password", url.Values{"password": {"guess"}}, "Test-Network", "192.0.2.9")
	}
	if right.status != http.StatusTooManyRequests || right.header.Get("Retry-After") == "" {
		t.Errorf("many guesses: %d", right.status)
	}
	for range 120 { // what is refused takes nothing from other networks
		s.post(t, "/status/harbor/password", url.Values{"password": {"guess"}}, "Test-Network", "192.0.2.9")
	}
	if a := s.post(
		t,
		"/status/harbor/password",
		url.Values{"password": {"guess"}},
		"Test-Network",
		"192.0.2.10",
	); a.status != http.StatusForbidden {
		t.Errorf("another network after many guesses: %d", a.status)
	}
	_, err = s.store.SetStatusPassword(t.Context(), s.page.OrgID, s.page.ID, hash+"x")
	ok(t, err)
	s.advance(31 * time.Second)
	if a := s.get(t, "/status/harbor", "Cookie", cookie); a.status != http.StatusUnauthorized {
		t.Errorf("after another password: %d", a.status)
	}
}

// TestCompressed: gzip is sent to those who take it, with a tag of its own, and 304 knows both tags.
func TestCompressed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	plain := s.get(t, "/status/harbor", "Accept-Encoding", "identity")
	for accept, want := range map[string]string{
		"gzip": "gzip", "br, gzip;q=0.5": "gzip", "*": "gzip", "gzip;q=0": "", "br": "", "identity": "", "gzip;q=0, *": "",
	} {
		a := s.get(t, "/status/harbor", "Accept-Encoding", accept)
		body := a.body
		if want == "gzip" {
			reader, err := gzip.NewReader(bytes.NewReader([]byte(a.body)))
			ok(t, err)
			unzipped, err := io.ReadAll(reader)
			ok(t, err)
			if body = string(unzipped); len(a.body)*2 > len(body) {
				t.Errorf("%d bytes of %d are sent", len(a.body), len(body))
			}
		}
		if a.header.Get("Content-Encoding") != want || a.header.Get("Vary") != "Accept-Encoding" || body != plain.body {
			t.Errorf("%s: %v", accept, a.header)
		}
		for _, tag := range []string{a.header.Get("ETag"), plain.header.Get("ETag")} {
			same := s.get(t, "/status/harbor", "Accept-Encoding", accept, "If-None-Match", tag)
			if same.status != http.StatusNotModified || same.body != "" || same.header.Get("Content-Encoding") != "" ||
				same.header.Get("ETag") != a.header.Get("ETag") {
				t.Errorf("%s with %s: %d %v", accept, tag, same.status, same.header)
			}
		}
	}
	if tag := s.get(t, "/status/harbor", "Accept-Encoding", "gzip").header.Get("ETag"); tag == plain.header.Get("ETag") {
		t.Error("other bytes have the same strong tag")
	}
}

func TestBadgesOfFigures(t *testing.T) {
	t.Parallel()
	s := harbor(t)
	badge := "/badge/" + s.check(1).String()
	for figure, want := range map[string]string{
		"uptime-7d": "Checkout uptime 7 d: 99.6", "uptime-30d": "Checkout uptime 30 d: 99.", "uptime-90d": "Checkout uptime 90 d: 99.95 %",
	} {
		has(t, s.read(t, badge+"/"+figure+".svg"), `aria-label="`+want)
	}
	for _, figure := range []string{"uptime-8d", "uptime-", "response-time-7d", "x", "uptime-7d/x"} {
		if a := s.get(t, badge+"/"+figure+".svg"); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", figure, a.status)
		}
	}
	s.change(t, func(p *overview.StatusPage) { p.ResponseTimes = true })
	has(t, s.read(t, badge+"/response-time-7d.svg"), `aria-label="Checkout response 7 d: 10`, ` ms"`)
}

// TestLooks: a color and a logo of its own, which the policy allows.
func TestLooks(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	picture := []byte("\x89PNG of a test")
	_, err := s.store.SetStatusLogo(t.Context(), s.page.OrgID, s.page.ID, &overview.Logo{MediaType: "image/png", Image: picture})
	ok(t, err)
	s.change(t, func(p *overview.StatusPage) { p.Accent = "#0f5fa8" })
	a := s.get(t, "/status/harbor")
	has(t, a.body, "<style>:root{--acc:#0f5fa8", `<img class="picture" src="/status/harbor/logo" alt="">`)
	_, style, _ := strings.Cut(a.body, "<style>:root{--acc")
	style, _, _ = strings.Cut(":root{--acc"+style, "</style>")
	if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, digestOf(style)) || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy does not allow the color: %s", policy)
	}
	logo := s.get(t, "/status/harbor/logo")
	if logo.status != http.StatusOK || logo.body != string(picture) || logo.header.Get("Content-Type") != "image/png" ||
		logo.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(logo.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the logo: %d %v", logo.status, logo.header)
	}
}

// TestAHostOfItsOwn: the page is at / of its host once that is verified, and nothing else is there.
func TestAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	s.change(t, func(p *overview.StatusPage) { p.Host, p.Subscriptions = "status.example.com", true })
	if slug := s.server.PageAt(t.Context(), "status.example.com"); slug != "" {
		t.Error("a host that no one has verified is served")
	}
	_, err := s.store.VerifyStatusHost(t.Context(), s.page.OrgID, s.page.ID, "status.example.com")
	ok(t, err)
	s.advance(31 * time.Second)
	for _, host := range []string{"status.example.com", "STATUS.example.com:443", "status.example.com."} {
		if slug := s.server.PageAt(t.Context(), host); slug != "harbor" {
			t.Errorf("at %s is %q", host, slug)
		}
	}
	ask := func(path string) answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
		ok(t, err)
		req.Host = "status.example.com"
		res, err := http.DefaultClient.Do(req)
		ok(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		ok(t, err)
		return answer{status: res.StatusCode, header: res.Header, body: string(body)}
	}
	has(t, ask("/").body, `href="https://status.example.com/status.atom"`, `href="/subscribe"`, "<h1>Everything works</h1>")
	for path, want := range map[string]int{
		"/": 200, "/status.json": 200, "/status.atom": 200, "/subscribe": 200, "/badge/" + s.check(0).String() + ".svg": 200,
		"/app": 404, "/v1/checks": 404, "/status/harbor": 404, "/openapi.json": 404, "/mcp": 404, "/docs/guide": 404, "/x.json": 404,
		"/status/-/confirm": 404,
	} {
		if a := ask(path); a.status != want {
			t.Errorf("%s at the host: %d, want %d", path, a.status, want)
		}
	}
	s.change(t, func(p *overview.StatusPage) { p.Host = "other.example.com" })
	s.advance(31 * time.Second)
	if slug := s.server.PageAt(t.Context(), "status.example.com") + s.server.PageAt(t.Context(), "other.example.com"); slug != "" {
		t.Errorf("after a change: %q", slug)
	}
}
