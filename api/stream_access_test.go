// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
)

func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for _, id := range []string{
		"x", "1", "1-", "-1", "1-x", "-1-1", "1--1", "+1-1", "01-1", "1-1-1", "1_1", "9223372036854775808-1", "1-1%20",
	} {
		r := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/stream/alerts?since="+strings.ReplaceAll(id, "+", "%2B"), nil)
		if r.detail("member") != "since" {
			t.Errorf("since=%s: %s", id, r.raw)
		}
		r = a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/stream/alerts", nil, "Last-Event-ID", strings.ReplaceAll(id, "%20", " x"))
		if r.detail("member") != "Last-Event-ID" {
			t.Errorf("Last-Event-ID: %s: %s", id, r.raw)
		}
	}
	a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/stream/alerts?since=", nil)
	a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/stream/alerts?since=0-0&since=0-0", nil)
	b.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/stream/alerts", nil)
	b.as("vgl_x").want(t, http.StatusUnauthorized, http.MethodGet, "/v1/stream/alerts", nil)
	a.want(t, http.StatusMethodNotAllowed, http.MethodPost, "/v1/stream/alerts", nil)
	if r := a.want(t, http.StatusOK, http.MethodHead, "/v1/stream/alerts", nil); r.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("header %v", r.header)
	}
}

func TestStreamLimits(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	a, other := s.signup(t), s.signup(t)
	refused := func(a person, scope string) {
		t.Helper()
		direct := *a.client
		direct.url = s.url
		r := direct.want(t, http.StatusTooManyRequests, http.MethodGet, "/v1/stream/alerts", nil)
		if r.body["code"] != "rate_limited" || r.detail("scope") != scope || r.header.Get("Retry-After") == "" {
			t.Errorf("answer %s", r.raw)
		}
	}
	var open []*follower
	for range 10 {
		f, _ := s.open(t, a, "", "")
		open = append(open, f)
	}
	refused(a, "key")
	for i := range 4 {
		made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "more " + strconv.Itoa(i)}).data(t)
		more := person{client: a.as(text(made, "api_key")), key: text(made, "api_key")}
		for range 10 {
			s.open(t, more, "", "")
		}
	}
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "one more"}).data(t)
	last := person{client: a.as(text(made, "api_key")), key: text(made, "api_key")}
	refused(last, "organization")
	s.open(t, other, "", "") // no other stream is held up

	open[3].cancel()
	eventually(t, "a stream opens in the place of the ended one", func() bool {
		f, _, err := follow(t.Context(), s.url, last.key, "", "")
		if f != nil {
			t.Cleanup(f.cancel)
		}
		return err == nil && f != nil
	})
	refused(last, "organization")
}

// TestStreamRevoked holds that the streams of a revoked key end within five
// seconds: four for which the key is cached, by the server's clock, and
// one of the machine's, which may be late but not every time.
func TestStreamRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	here, elsewhere := b.streaming(t, api.StreamConfig{}), b.streaming(t, api.StreamConfig{})
	stays, _ := here.open(t, a, "", "")
	best := time.Minute
	for try := 0; try < 5 && best > time.Second; try++ {
		made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "short"}).data(t)
		doomed := person{client: a.as(text(made, "api_key")), key: text(made, "api_key")}
		one, _ := here.open(t, doomed, "", "")
		two, _ := elsewhere.open(t, doomed, "", "")
		a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+text(made, "id"), nil)
		b.clock.Advance(4 * time.Second)
		began := time.Now()
		one.ended(t, 15*time.Second)
		two.ended(t, 15*time.Second)
		best = min(best, time.Since(began))
		if f, res, err := follow(t.Context(), here.url, doomed.key, "", ""); err != nil || f != nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("a revoked key was answered %v, %v", res, err)
		}
	}
	if best > time.Second {
		t.Errorf("both ended %v after the key was no longer cached", best)
	}
	stays.quiet(t)
}

func TestStreamOfASession(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	data := s.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", map[string]any{
		"email": "ada@example.com", "password": "difference engine", "name": "Ada", "organization_name": "Engines",
	}).data(t)
	f, _ := s.open(t, person{key: text(data, "token")}, "", "")
	f.quiet(t)
	s.clock.Advance(7*24*time.Hour + time.Minute)
	f.ended(t, 5*time.Second)
}
