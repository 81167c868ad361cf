// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
)

// targets are private targets that a test opens.
type targets struct {
	mu     sync.Mutex
	open   bool
	reason string
}

func (p *targets) Open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open && p.reason == ""
}

func (p *targets) Close(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reason = reason
}

func (p *targets) Closed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// TestAttackBrowser sends what a page of another site can make a browser send to an API
// on the same machine.
func TestAttackBrowser(t *testing.T) {
	t.Parallel()
	private := &targets{open: true}
	b := setup(t, func(d *api.Deps) { d.PrivateTargets = private })
	host := strings.TrimPrefix(b.url, "http://")
	_, port, _ := strings.Cut(host, ":")
	const signup = "/v1/auth/quick-signup"
	for _, tt := range []struct {
		name, method, path string
		status             int
		host               string
		header             []string
	}{
		{"a name bound to 127.0.0.1", http.MethodGet, "/", 403, "evil.example:" + port, nil},
		{"a name bound to 127.0.0.1, to sign up", http.MethodPost, signup, 403, "evil.example:" + port, nil},
		{"a name that begins like localhost", http.MethodGet, "/", 403, "localhost.evil.example", nil},
		{"a name that holds an address", http.MethodGet, "/", 403, "127.0.0.1.nip.io", nil},
		{"a private address", http.MethodGet, "/", 403, "192.168.0.7", nil},
		{"every address", http.MethodGet, "/", 403, "0.0.0.0:" + port, nil},
		{"localhost", http.MethodGet, "/", 200, "localhost:" + port, nil},
		{"localhost with a dot", http.MethodGet, "/", 200, "LOCALHOST.", nil},
		{"a name below localhost", http.MethodGet, "/", 200, "vigil.localhost:" + port, nil},
		{"a loopback address", http.MethodGet, "/", 200, "127.0.0.2:1", nil},
		{"the loopback address of IPv6", http.MethodGet, "/", 200, "[::1]:" + port, nil},
		{"a page of another site", http.MethodPost, signup, 403, host, []string{"Sec-Fetch-Site", "cross-site"}},
		{"a page on another port", http.MethodPost, signup, 403, host, []string{"Sec-Fetch-Site", "same-site"}},
		{"an old browser with a page of another site", http.MethodPost, signup, 403, host, []string{"Origin", "http://evil.example"}},
		{"a page without an origin", http.MethodPost, signup, 403, host, []string{"Origin", "null"}},
		{"its own page", http.MethodPost, signup, 201, host, []string{"Sec-Fetch-Site", "same-origin", "Origin", b.url}},
		{"an old browser with its own page", http.MethodPost, signup, 201, host, []string{"Origin", b.url}},
		{"a program", http.MethodPost, signup, 201, host, nil},
		{"a link of another site", http.MethodGet, "/", 200, host, []string{"Sec-Fetch-Site", "cross-site"}},
		{"the form of a mailed link, whose page has no origin", http.MethodPost, "/verify", 400, host, []string{"Origin", "null"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var body any
			if tt.path == signup {
				body = map[string]any{"email": strings.ReplaceAll(t.Name(), "/", ".") + "@example.com"}
			}
			if got := b.at(tt.host).do(t, tt.method, tt.path, body, tt.header...); got.status != tt.status {
				t.Errorf("status %d, want %d: %s", got.status, tt.status, got.raw)
			}
		})
	}
}

// at returns a client that sends a Host header.
func (c *client) at(host string) *client {
	with := *c
	with.http = &http.Client{Transport: hosted{http.DefaultTransport, host}}
	return &with
}

// plainly returns a client whose requests and answers are not compared with the OpenAPI
// document, which describes those of programs.
func (c *client) plainly() *client {
	with := *c
	with.http = http.DefaultClient
	return &with
}

type hosted struct {
	http.RoundTripper

	host string
}

func (h hosted) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = h.host
	return h.RoundTripper.RoundTrip(r)
}

// TestAnyHostIsServedWherePrivateTargetsAreRefused holds that a public API keeps to no
// name and no origin: its callers have credentials that no browser adds by itself.
func TestAnyHostIsServedWherePrivateTargetsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.PrivateTargets = &targets{} })
	c := b.at("vigil.example.com")
	c.want(t, http.StatusOK, http.MethodGet, "/", nil)
	c.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "a@example.com"},
		"Origin", "https://app.example.com", "X-Forwarded-For", "203.0.113.9")
}

func TestBodyWithoutAContentType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, tt := range []struct {
		status int
		header []string
	}{
		{400, []string{"Sec-Fetch-Site", "cross-site"}},
		{400, []string{"Sec-Fetch-Site", "same-site"}},
		{400, []string{"Origin", "https://evil.example"}},
		{400, []string{"Origin", "null"}},
		{201, nil},
		{201, []string{"Sec-Fetch-Site", "same-origin"}},
		{201, []string{"Origin", b.url}},
	} {
		body := `{"email":"ada` + string(rune('a'+i)) + `@example.com"}`
		r := b.plainly().want(t, tt.status, http.MethodPost, "/v1/auth/quick-signup", body, append(tt.header, "Content-Type", "")...)
		if tt.status == 400 && r.detail("member") != "Content-Type" {
			t.Errorf("%q: it names %v", tt.header, r.detail("member"))
		}
	}
	b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup", `{"email":"ada@example.com"}`, "Sec-Fetch-Site", "cross-site")
}

func TestAProxyThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	t.Run("ClosesPrivateTargets", func(t *testing.T) {
		t.Parallel()
		private := &targets{open: true}
		b := setup(t, func(d *api.Deps) { d.PrivateTargets = private; d.Config.AddressRate = 2 })
		b.works(t, "w1", "eu-central-fra")
		for range 5 { // no limit while only this machine's users can reach the API
			b.signup(t)
		}
		if shown := b.want(t, http.StatusOK, http.MethodGet, "/ready", nil).data(t)["private_targets"]; shown != "open" {
			t.Errorf("private_targets %v", shown)
		}
		b.at("vigil.example.com").want(t, http.StatusOK, http.MethodGet, "/health", nil, "X-Forwarded-Proto", "https")
		if private.Open() || !strings.Contains(private.Closed(), "X-Forwarded-Proto") || !strings.Contains(private.Closed(), "127.0.0.1") {
			t.Errorf("closed because %q", private.Closed())
		}
		b.clock.Advance(time.Second)
		if shown := b.want(t, http.StatusOK, http.MethodGet, "/ready", nil).data(t)["private_targets"]; shown != private.Closed() {
			t.Errorf("private_targets %v", shown)
		}
		b.signup(t)
		b.signup(t)
		b.want(t, http.StatusTooManyRequests, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "a@example.com"})
	})
	for header, value := range map[string]string{
		"Forwarded": "for=203.0.113.9", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "vigil.example.com",
	} {
		t.Run("IsKnownBy"+header, func(t *testing.T) {
			t.Parallel()
			private := &targets{open: true}
			b := setup(t, func(d *api.Deps) { d.PrivateTargets = private })
			b.want(t, http.StatusOK, http.MethodGet, "/health", nil, header, value)
			if private.Open() || !strings.Contains(private.Closed(), "the header "+header+",") {
				t.Errorf("closed because %q", private.Closed())
			}
		})
	}
	t.Run("TrustedOneDoesNot", func(t *testing.T) {
		t.Parallel()
		private := &targets{open: true}
		b := setup(t, func(d *api.Deps) {
			d.PrivateTargets, d.Config.TrustedProxies = private, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		})
		b.want(t, http.StatusOK, http.MethodGet, "/", nil, "X-Forwarded-For", "203.0.113.9")
		if !private.Open() {
			t.Errorf("closed because %q", private.Closed())
		}
	})
}
