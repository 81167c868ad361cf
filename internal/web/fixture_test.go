// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/internal/web"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// site is the dashboard on the real API and a database of its own. Only Temporal is
// missing: what needs it is answered 503.
type site struct {
	url   string
	store *storage.Store
	api   *api.Server
	mails *mails
}

// open starts a site; public is its public URL, empty for that of the listener. Options
// change what the API is given.
func open(tb testing.TB, public string, options ...func(*api.Deps)) *site {
	tb.Helper()
	return openAs(tb, public, func(*web.Config) {}, options...)
}

// openAs is open with changes of the dashboard's settings.
func openAs(tb testing.TB, public string, change func(*web.Config), options ...func(*api.Deps)) *site {
	tb.Helper()
	s := &site{store: storagetest.New(tb), mails: &mails{}}
	var handler http.Handler
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	tb.Cleanup(listener.Close)
	s.url = listener.URL
	if public == "" {
		public = s.url
	}
	deps := api.Deps{
		Stores:   apitest.Stores(s.store),
		Loops:    noLoops{},
		Mailer:   s.mails,
		Now:      time.Now,
		Log:      slog.New(slog.DiscardHandler),
		Probes:   probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
		Channels: notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
		Config: api.Config{
			PublicURL:             public,
			SigningKey:            bytes.Repeat([]byte{7}, 32),
			EnterpriseMinInterval: time.Second,
			SignupTier:            account.TierPaid,
		},
	}
	for _, option := range options {
		option(&deps)
	}
	var err error
	if s.api, err = api.New(deps); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.api.Close)
	s.api.HashCheaply()
	config := web.Config{PublicURL: public, Beat: 100 * time.Millisecond}
	change(&config)
	s.mails.leave = config.MailLeaves
	pages, err := web.New(web.Deps{
		API:      s.api,
		Sessions: s.store.Sessions(),
		Changes:  s.store,
		Now:      time.Now,
		Log:      slog.New(slog.DiscardHandler),
		Config:   config,
		ActAs: func(ctx context.Context, who web.Identity) context.Context {
			return rest.ActAs(ctx, who.UserID, who.Version)
		},
		InBackground: rest.InBackground,
		FromBrowser:  rest.FromBrowser,
		Identify: func(ctx context.Context, token string) (web.Identity, error) {
			user, version, err := s.api.Identify(ctx, token)
			return web.Identity{UserID: user, Version: version}, err
		},
		LinkUser: func(ctx context.Context, token string) (string, error) {
			user, err := s.api.LoginLinkUser(ctx, token)
			return user.Name, err
		},
		UseLink: func(ctx context.Context, token string) (web.Identity, error) {
			user, version, err := s.api.UseLoginLink(ctx, token)
			return web.Identity{UserID: user, Version: version}, err
		},
		ClientAddress: func(ctx context.Context) string { return rest.RequestOf(ctx).Address.String() },
	})
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/app/", s.api.Guard(pages))
	mux.Handle("/app", s.api.Guard(pages))
	mux.Handle("/", s.api)
	handler = mux
	return s
}

// noLoops has no workflows.
type noLoops struct{}

func (noLoops) Apply(context.Context, vigil.Loop) error              { return nil }
func (noLoops) Stop(context.Context, uuid.UUID, string, int64) error { return nil }
func (noLoops) State(context.Context, uuid.UUID, string) (vigil.LoopState, error) {
	return vigil.LoopState{}, vigil.Errorf(vigil.CodeUnavailable, "There is no Temporal.")
}

func (noLoops) Test(context.Context, vigil.Check, string, bool) (vigil.Result, error) {
	return vigil.Result{}, vigil.Errorf(vigil.CodeUnavailable, "There is no Temporal.")
}

// mails keeps the mail that is sent.
type mails struct {
	leave bool // the machine
	mu    sync.Mutex
	sent  []mail.Message
}

func (m *mails) Sends() bool { return m.leave }

func (m *mails) Send(_ context.Context, message mail.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, message)
	return nil
}

// link waits for a mail to an address that has a link to a path, and returns it.
func (m *mails) link(tb testing.TB, to, path string) string {
	tb.Helper()
	pattern := regexp.MustCompile(`http\S*` + regexp.QuoteMeta(path) + `\?token=\S+`)
	var found string
	timingtest.Eventually(tb, time.Minute, "a mail to "+to+" has a link to "+path, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, message := range m.sent {
			if found = pattern.FindString(message.Text); found != "" && message.To[0] == to {
				return true
			}
		}
		return false
	})
	return found
}

// browser keeps cookies and follows no redirect by itself.
type browser struct {
	*http.Client
	site *site
}

func (s *site) browser(tb testing.TB) *browser {
	tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return &browser{site: s, Client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// answer is a page, or where the answer leads.
type answer struct {
	status   int
	location string
	text     string
	header   http.Header
}

// sessionCookie is the header that sets the cookie of the session.
func (a answer) sessionCookie() string {
	for _, set := range a.header.Values("Set-Cookie") {
		if strings.HasPrefix(set, "vigil=") || strings.HasPrefix(set, "__Host-vigil=") {
			return set
		}
	}
	return ""
}

// get reads a page and fails the test unless it has the status.
func (b *browser) get(tb testing.TB, status int, path string, headers ...string) answer {
	tb.Helper()
	return b.send(tb, status, http.MethodGet, path, http.NoBody, headers...)
}

// post sends a form as the page of the site does.
func (b *browser) post(tb testing.TB, status int, path string, form url.Values, headers ...string) answer {
	tb.Helper()
	headers = append(
		[]string{"Content-Type", "application/x-www-form-urlencoded", "Origin", b.site.url, "Sec-Fetch-Site", "same-origin"},
		headers...)
	return b.send(tb, status, http.MethodPost, path, strings.NewReader(form.Encode()), headers...)
}

func (b *browser) send(tb testing.TB, status int, method, path string, body io.Reader, headers ...string) answer {
	tb.Helper()
	if !strings.HasPrefix(path, "http") {
		path = b.site.url + path
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, path, body)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	if res.StatusCode != status {
		tb.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, status, text)
	}
	return answer{status: status, location: res.Header.Get("Location"), text: string(text), header: res.Header}
}

// follow posts a form and reads the page that the answer leads to.
func (b *browser) follow(tb testing.TB, path string, form url.Values) answer {
	tb.Helper()
	return b.get(tb, http.StatusOK, b.post(tb, http.StatusSeeOther, path, form).location)
}

// shows fails the test unless the page has the texts.
func (a answer) shows(tb testing.TB, texts ...string) {
	tb.Helper()
	for _, text := range texts {
		if !strings.Contains(a.text, text) {
			tb.Errorf("the page does not show %q: %s", text, a.text)
		}
	}
}

const password = "difference engine"

// signUp makes an account and signs it in.
func (s *site) signUp(tb testing.TB) (*browser, string) {
	tb.Helper()
	b, email := s.browser(tb), uuid.NewString()+"@example.com"
	b.post(tb, http.StatusSeeOther, "/app/sign-up", url.Values{
		"name": {"Ada"}, "organization_name": {"Engines"}, "email": {email}, "password": {password},
	})
	return b, email
}

// signIn signs an account in, in another browser.
func (s *site) signIn(tb testing.TB, email, password string) *browser {
	tb.Helper()
	b := s.browser(tb)
	b.post(tb, http.StatusSeeOther, "/app/sign-in", url.Values{"email": {email}, "password": {password}})
	return b
}
