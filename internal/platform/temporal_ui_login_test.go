// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// guardedUI is a UI behind a login whose clock and whose answer about sessions can be set.
type guardedUI struct {
	login *uiLogin
	url   string
	mu    sync.Mutex
	clock time.Time
	err   error
}

func guardUI(t *testing.T) *guardedUI {
	t.Helper()
	g := &guardedUI{login: newUILogin("http://dashboard.example", false), clock: time.Now()}
	g.login.now = func() time.Time {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.clock
	}
	server := httptest.NewServer(g.login.wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the UI at "+r.URL.RequestURI())
	})))
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *guardedUI) set(later time.Duration, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock, g.err = g.clock.Add(later), err
}

func (g *guardedUI) allow() {
	g.login.open(func(context.Context, uiVisitor) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.err
	})
}

// get requests a path and returns the status with where it leads or what it says.
func (g *guardedUI) get(t *testing.T, browser *http.Client, path, accept string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if to := res.Header.Get("Location"); to != "" {
		return res.StatusCode, to
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func newUIBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func TestTemporalUILogin(t *testing.T) {
	t.Parallel()
	g, browser, who := guardUI(t), newUIBrowser(t), uiVisitor{user: uuid.New(), session: uuid.New()}
	const page, program = "text/html", "application/json"
	want := func(path, accept string, status int, text string) {
		t.Helper()
		if got, said := g.get(t, browser, path, accept); got != status || !strings.Contains(said, text) {
			t.Errorf("GET %s: %d %q, want %d %q", path, got, said, status, text)
		}
	}
	want("/", page, http.StatusSeeOther, "http://dashboard.example/app/temporal?next=%2F")
	want("/namespaces/vigil?x=1", page, http.StatusSeeOther, "http://dashboard.example/app/temporal?next=%2Fnamespaces%2Fvigil%3Fx%3D1")
	want("/api/v1/settings", program, http.StatusUnauthorized, "Sign in")
	want("/vigil-sign-in?ticket=", page, http.StatusSeeOther, "http://dashboard.example/app/temporal")
	if _, err := g.login.ticket(t.Context(), who, "/"); vigil.ErrorCode(err) != vigil.CodeUnavailable {
		t.Errorf("a ticket before the platform is built: %v", err)
	}
	g.allow()
	way, err := g.login.ticket(t.Context(), who, "/namespaces/vigil?x=1")
	if err != nil {
		t.Fatal(err)
	}
	want(way, page, http.StatusSeeOther, "/namespaces/vigil?x=1")
	want("/namespaces/vigil?x=1", page, http.StatusOK, "the UI at /namespaces/vigil?x=1")
	want("/api/v1/settings", program, http.StatusOK, "the UI")
	stranger := newUIBrowser(t)
	if status, _ := g.get(t, stranger, way, page); status != http.StatusSeeOther {
		t.Errorf("a ticket that was used: %d", status)
	}
	if status, _ := g.get(t, stranger, "/", program); status != http.StatusUnauthorized {
		t.Errorf("after it: %d", status)
	}
	g.set(uiTrust, &vigil.Error{Code: vigil.CodeInternal})
	want("/", page, http.StatusServiceUnavailable, "not known")
	g.set(0, nil)
	want("/", page, http.StatusOK, "the UI")
	g.set(uiTrust, &vigil.Error{Code: vigil.CodeUnauthorized})
	want("/", program, http.StatusUnauthorized, "Sign in")
	g.set(0, nil)
	want("/", program, http.StatusUnauthorized, "Sign in") // the cookie is gone for good
	if way, err = g.login.ticket(t.Context(), who, "/"); err != nil {
		t.Fatal(err)
	}
	g.set(uiTicketLife, nil)
	want(way, page, http.StatusSeeOther, "http://dashboard.example/app/temporal")
	g.set(0, &vigil.Error{Code: vigil.CodeForbidden})
	if _, err := g.login.ticket(t.Context(), who, "/"); vigil.ErrorCode(err) != vigil.CodeForbidden {
		t.Errorf("a ticket for who may not: %v", err)
	}
}

func TestTemporalUIPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/namespaces/vigil/workflows?query=a%20b": "/namespaces/vigil/workflows?query=a%20b", "": "/", "/": "/",
		"//evil.example/": "/", "https://evil.example/": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "a": "/", "/%zz": "/",
		"/vigil-sign-in?ticket=x": "/",
	} {
		if got := uiPath(path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
	l := newUILogin("", false)
	l.open(func(context.Context, uiVisitor) error { return nil })
	for range 2 * maxUIVisits {
		if _, err := l.ticket(t.Context(), uiVisitor{}, "/"); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.tickets) > maxUIVisits {
		t.Errorf("%d tickets are kept", len(l.tickets))
	}
}
