// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
)

// process starts one more API process on the same database; the caller closes the server.
func (i inbox) process(t *testing.T) (*api.Server, *client) {
	t.Helper()
	server := i.testServer.server(t, i.mailing)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	return server, &client{url: listener.URL, http: listener.Client()}
}

// TestAPasswordIsHashedForAGoodTokenOnly holds that a stranger cannot make the API hash
// passwords by sending tokens that are not valid.
func TestAPasswordIsHashedForAGoodTokenOnly(t *testing.T) {
	t.Parallel()
	i := setupMail(t)
	var hashes atomic.Int64
	server, c := i.process(t)
	t.Cleanup(server.Close)
	server.WatchHashes(func() { hashes.Add(1) })
	a := i.tier(t, i.owner(t, i.server), account.TierPaid)
	a.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": "grace@example.com", "role": "viewer"})
	i.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": a.email})
	recoverBy := func(status int, token string) answer {
		form := url.Values{"token": {token}, "password": {"long enough for anyone"}}
		return c.want(t, status, http.MethodPost, "/recover", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	accept := func(status int, token string) answer {
		return c.want(t, status, http.MethodPost, "/v1/invitations/accept",
			map[string]any{"token": token, "name": "Grace", "password": "long enough for anyone"})
	}
	recovery, invitation := i.link(t, a.email, "recover"), invitationToken(t, i.server, "grace@example.com", 1)
	for _, token := range []string{"no-token", strings.Repeat("x", 43), invitation} {
		if r := recoverBy(http.StatusBadRequest, token); !strings.Contains(string(r.raw), "is not valid") {
			t.Errorf("answer %s", r.raw)
		}
	}
	for _, token := range []string{"no-token", strings.Repeat("x", 43), recovery} {
		if r := accept(http.StatusBadRequest, token); !strings.Contains(string(r.raw), "is not valid") {
			t.Errorf("answer %s", r.raw)
		}
	}
	if n := hashes.Load(); n != 0 {
		t.Fatalf("%d passwords were hashed for tokens that are not valid", n)
	}
	accept(http.StatusCreated, invitation) // first: a recovery ends invitations
	recoverBy(http.StatusOK, recovery)
	if n := hashes.Load(); n != 2 {
		t.Errorf("%d passwords were hashed for two good tokens", n)
	}
	recoverBy(http.StatusBadRequest, recovery) // each works once
	accept(http.StatusBadRequest, invitation)
	if n := hashes.Load(); n != 2 {
		t.Errorf("%d passwords were hashed for used tokens", n-2)
	}
}

// TestAsManyHashesAtOnceAsProcessors holds that passwords take the memory and time of as many
// hashes as there are processors, however many requests arrive.
func TestAsManyHashesAtOnceAsProcessors(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{"/v1/auth/login": http.StatusUnauthorized, "/v1/auth/signup": http.StatusCreated} {
		t.Run(strings.TrimPrefix(path, "/v1/auth/"), func(t *testing.T) {
			t.Parallel()
			i := setupMail(t)
			cores := runtime.GOMAXPROCS(0)
			started, release := make(chan struct{}, 10*cores), make(chan struct{})
			server, c := i.process(t)
			t.Cleanup(server.Close)
			server.WatchHashes(func() {
				started <- struct{}{}
				<-release
			})
			post := func(ctx context.Context) (int, error) {
				body, err := json.Marshal(map[string]any{
					"email": fmt.Sprintf("hashed%d@example.com", serial.Add(1)), "password": "long enough for anyone",
					"name": "Ada", "organization_name": "Engines",
				})
				if path == "/v1/auth/login" {
					body, err = json.Marshal(map[string]any{
						"email": fmt.Sprintf("unknown%d@example.com", serial.Add(1)), "password": "long enough for anyone",
					})
				}
				if err != nil {
					return 0, err
				}
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(body))
				if err != nil {
					return 0, err
				}
				req.Header.Set("Content-Type", "application/json")
				r, err := c.http.Do(req)
				if err != nil {
					return 0, err
				}
				return r.StatusCode, r.Body.Close()
			}
			answers := make(chan string, cores)
			for range cores {
				go func() {
					got, err := post(t.Context())
					answers <- fmt.Sprint(got, err)
				}()
			}
			for range cores {
				<-started
			}
			short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if got, err := post(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("one request more is answered %d, %v", got, err)
			}
			select {
			case <-started:
				t.Errorf("more than %d hashes run at once", cores)
			default:
			}
			close(release)
			for range cores {
				if got := <-answers; got != fmt.Sprint(status, nil) {
					t.Errorf("answered %s, want %d", got, status)
				}
			}
		})
	}
}
