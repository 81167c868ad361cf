// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// pages serves what a dashboard beside the API is: each request to it makes one to the API
// in this process, for the session of a user when there is one.
func (b *testServer) pages(
	t *testing.T, inner func(outer *http.Request) *http.Request, options ...func(*api.Deps),
) (*client, *api.Server) {
	t.Helper()
	server := b.server(t, options...)
	listener := httptest.NewServer(server.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.ServeHTTP(w, inner(r))
	})))
	t.Cleanup(func() {
		listener.Close()
		server.Close()
	})
	return &client{url: listener.URL, http: listener.Client()}, server
}

// read makes a request to the API under the context of another one.
func read(outer *http.Request, method, path string) *http.Request {
	inner := httptest.NewRequestWithContext(outer.Context(), method, path, http.NoBody)
	inner.Host, inner.RemoteAddr = "", ""
	return inner
}

// signedIn is a page of a session of an account with a password.
type signedIn struct {
	*client
	server  *api.Server
	account person
}

const sessionPassword = "difference engine"

func (b *testServer) signedIn(t *testing.T) signedIn {
	t.Helper()
	account := b.signupWithPassword(t, sessionPassword)
	token := text(b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login",
		map[string]any{"email": account.email, "password": sessionPassword}).data(t), "token")
	var user uuid.UUID
	var version int64
	front, server := b.pages(t, func(outer *http.Request) *http.Request {
		outer = outer.WithContext(rest.ActAs(outer.Context(), user, version))
		return read(outer, outer.Method, outer.URL.Path)
	})
	var err error
	if user, version, err = server.Identify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if user != account.user {
		t.Fatalf("the token is of %s, not of %s", user, account.user)
	}
	return signedIn{front, server, account}
}

func TestSession(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("ActsAsItsUser", func(t *testing.T) {
		t.Parallel()
		front := b.signedIn(t)
		me := front.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil).data(t)
		if user, _ := me["user"].(map[string]any); text(user, "email") != front.account.email || me["api_key"] != nil {
			t.Errorf("me %v", me)
		}
	})

	t.Run("HasTheRequestIDAndTheClientOfThePage", func(t *testing.T) {
		t.Parallel()
		front := b.signedIn(t)
		answer := front.want(t, http.StatusOK, http.MethodPost, "/v1/auth/resend-verification", nil, "X-Request-Id", "page-1",
			"User-Agent", "Firefox")
		if answer.header.Get("X-Request-Id") != "page-1" {
			t.Errorf("the answer's id is %q", answer.header.Get("X-Request-Id"))
		}
		for _, entry := range front.account.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t) {
			if text(entry, "request_id") == "page-1" {
				if text(entry, "address") != "127.0.0.1" || text(entry, "user_agent") != "Firefox" || entry["api_key_id"] != nil {
					t.Errorf("audit entry %v", entry)
				}
				return
			}
		}
		t.Error("no audit entry has the id of the page")
	})

	t.Run("EndsWithTheSessionVersion", func(t *testing.T) {
		t.Parallel()
		front := b.signedIn(t)
		front.account.want(t, http.StatusOK, http.MethodPut, "/v1/auth/password",
			map[string]any{"current_password": sessionPassword, "new_password": "analytical engine"})
		b.clock.Advance(5 * time.Second) // for which users are cached
		ended := front.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
		if !strings.Contains(ended.problem(), "sign in again") {
			t.Errorf("answer %s", ended.raw)
		}
	})

	t.Run("NoHeaderOfAClientMakesOne", func(t *testing.T) {
		t.Parallel()
		front := b.signedIn(t)
		b.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil, "X-Acting-User", front.account.user.String())
		if _, _, err := front.server.Identify(t.Context(), "no token"); vigil.ErrorCode(err) != vigil.CodeUnauthorized {
			t.Errorf("a wrong token: %v", err)
		}
	})
}

func TestSessionsHaveARateOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	account := b.signup(t)
	front, _ := b.pages(t, func(outer *http.Request) *http.Request {
		return read(outer.WithContext(rest.ActAs(outer.Context(), account.user, 0)), http.MethodGet, "/v1/auth/me")
	})
	for range rest.SessionRate {
		front.want(t, http.StatusOK, http.MethodGet, "/", nil)
	}
	front.want(t, http.StatusTooManyRequests, http.MethodGet, "/", nil)
	me := account.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	if limit := me.header.Get("RateLimit"); !strings.Contains(limit, "r=999") {
		t.Errorf("RateLimit %q: requests of sessions count in that of the organization", limit)
	}
}

// TestPagesCountForTheirClient sends sign-ins through a page, which count for the client of
// the page and not for the process.
func TestPagesCountForTheirClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	front, _ := b.pages(t, func(outer *http.Request) *http.Request {
		return read(outer, http.MethodPost, "/v1/auth/recover")
	}, func(d *api.Deps) {
		d.Config.AddressRate = 2
		d.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	for _, status := range []int{http.StatusBadRequest, http.StatusBadRequest, http.StatusTooManyRequests} {
		front.want(t, status, http.MethodPost, "/", nil, "X-Forwarded-For", "192.0.2.7")
	}
	front.want(t, http.StatusBadRequest, http.MethodPost, "/", nil, "X-Forwarded-For", "192.0.2.8")
}

// sessionOf stores a session of the dashboard for an account and returns its id.
func sessionOf(t *testing.T, b *testServer, a person) string {
	t.Helper()
	id := uuid.NewString()
	data, err := json.Marshal(account.SessionData{Values: map[string]string{
		account.SessionUser: a.user.String(), account.SessionID: id, account.SessionAddress: "192.0.2.1", account.SessionAgent: "Firefox",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.store.Sessions().CommitCtx(t.Context(), id, data, b.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestSessionsOfAUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signupWithPassword(t, "difference engine")
	first, second := sessionOf(t, b, a), sessionOf(t, b, a)
	ids := func() []string {
		var found []string
		for _, row := range a.want(t, http.StatusOK, http.MethodGet, "/v1/auth/sessions", nil).rows(t) {
			if row["address"] != "192.0.2.1" || row["user_agent"] != "Firefox" {
				t.Errorf("session %v", row)
			}
			found = append(found, text(row, "id"))
		}
		slices.Sort(found)
		return found
	}
	want := []string{first, second}
	slices.Sort(want)
	if got := ids(); !slices.Equal(got, want) {
		t.Fatalf("sessions %v, want %v", got, want)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/auth/sessions/"+first, nil)
	a.want(t, http.StatusNotFound, http.MethodDelete, "/v1/auth/sessions/"+first, nil)
	if got := ids(); !slices.Equal(got, []string{second}) {
		t.Errorf("sessions %v", got)
	}

	token := text(b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login",
		map[string]any{"email": a.email, "password": "difference engine"}).data(t), "token")
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/auth/sessions", nil)
	if got := ids(); len(got) != 0 {
		t.Errorf("sessions %v", got)
	}
	b.as(token).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/auth/me", nil)
}
