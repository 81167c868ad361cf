// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
)

func TestSystem(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("WelcomeNamesTheInterface", func(t *testing.T) {
		t.Parallel()
		data := b.want(t, http.StatusOK, http.MethodGet, "/", nil).data(t)
		if data["version"] != "v1" || data["status"] != "ok" || data["message"] == "" {
			t.Errorf("data %v", data)
		}
	})

	t.Run("HealthNeedsNothing", func(t *testing.T) {
		t.Parallel()
		if data := b.want(t, http.StatusOK, http.MethodGet, "/health", nil).data(t); data["status"] != "ok" {
			t.Errorf("data %v", data)
		}
	})

	t.Run("UnknownPathsAreJSON", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{
			"/v2/checks", "/v1", "/v1/", "/v1//checks", "/v1/checks/", "/v1/checks/../checks", "/nothing", "/docs/", "/v1/checks/a/b/c",
		} {
			if a := b.want(t, http.StatusNotFound, http.MethodGet, path, nil); a.body["code"] != "not_found" {
				t.Errorf("%s: %s", path, a.raw)
			}
		}
	})

	t.Run("UnknownMethodsAreJSONAndNameTheKnown", func(t *testing.T) {
		t.Parallel()
		for method, path := range map[string]string{
			http.MethodPatch: "/v1/checks", http.MethodDelete: "/v1/regions", http.MethodOptions: "/v1/checks", http.MethodPost: "/openapi.json",
		} {
			a := b.want(t, http.StatusMethodNotAllowed, method, path, nil)
			if a.body["code"] != "method_not_allowed" || !strings.Contains(a.header.Get("Allow"), "GET") {
				t.Errorf("%s %s: %s, Allow %q", method, path, a.raw, a.header.Get("Allow"))
			}
		}
	})

	t.Run("RequestIDsAreTakenOverWhenTheyAreFit", func(t *testing.T) {
		t.Parallel()
		a := b.do(t, http.MethodGet, "/nothing", nil, "X-Request-Id", "order-66")
		if a.header.Get("X-Request-Id") != "order-66" || a.body["request_id"] != "order-66" {
			t.Errorf("header %q, body %s", a.header.Get("X-Request-Id"), a.raw)
		}
		for _, unfit := range []string{"two words", strings.Repeat("x", 129), "naïve"} {
			a := b.do(t, http.MethodGet, "/health", nil, "X-Request-Id", unfit)
			if !regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString(a.header.Get("X-Request-Id")) {
				t.Errorf("%q became %q", unfit, a.header.Get("X-Request-Id"))
			}
		}
	})
}

func TestReady(t *testing.T) {
	t.Parallel()
	var temporal error
	b := setup(t, func(d *api.Deps) { d.Temporal = func(context.Context) error { return temporal } })

	a := b.want(t, http.StatusServiceUnavailable, http.MethodGet, "/ready", nil)
	if a.detail("regions") != "0 of 33 online" || a.detail("database") != "ok" || a.header.Get("Retry-After") == "" {
		t.Errorf("without a worker: %s", a.raw)
	}
	b.works(t, "w1", "eu-central-fra")
	b.want(t, http.StatusServiceUnavailable, http.MethodGet, "/ready", nil) // the answer is used for a second
	b.clock.Advance(time.Second)
	data := b.want(t, http.StatusOK, http.MethodGet, "/ready", nil).data(t)
	if data["database"] != "ok" || data["migrations"] != "ok" || data["temporal"] != "ok" || data["regions"] != "1 of 33 online" {
		t.Errorf("ready: %v", data)
	}
	temporal = errors.New("connection refused")
	b.clock.Advance(time.Second)
	if a := b.want(t, http.StatusServiceUnavailable, http.MethodGet, "/ready", nil); a.detail("temporal") != "unreachable" {
		t.Errorf("without Temporal: %s", a.raw)
	}
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	b.store.Close()
	b.want(t, http.StatusOK, http.MethodGet, "/health", nil)
	if r := b.want(t, http.StatusServiceUnavailable, http.MethodGet, "/ready", nil); r.detail("database") == "ok" {
		t.Errorf("ready: %s", r.raw)
	}
	if r := a.do(t, http.MethodGet, "/v1/checks", nil); r.status < http.StatusInternalServerError || r.body["error"] == nil {
		t.Errorf("checks: %d %s", r.status, r.raw)
	}
}

// TestPanic holds that a fault of ours is a JSON answer and a line in the log.
func TestPanic(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	id := text(a.check(t), "id")
	b.loops.test = func(vigil.Check, string, bool) (vigil.Result, error) { panic("out of cheese") }
	r := a.want(t, http.StatusInternalServerError, http.MethodPost, "/v1/checks/"+id+"/test", nil)
	if r.body["code"] != "internal" || strings.Contains(string(r.raw), "cheese") {
		t.Errorf("answer %s", r.raw)
	}
	if !strings.Contains(b.log.String(), "out of cheese") {
		t.Error("the panic is not in the log")
	}
}

func TestDocs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	page := string(b.want(t, http.StatusOK, http.MethodGet, "/docs", nil).raw)
	if strings.Contains(page, "://") {
		t.Error("the page names another host")
	}
	assets := regexp.MustCompile(`(?:src|stylesheet" href)="(/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(assets) < 3 {
		t.Fatalf("assets %v", assets)
	}
	for _, asset := range assets {
		a := b.want(t, http.StatusOK, http.MethodGet, asset[1], nil)
		want := "text/css"
		if strings.HasSuffix(asset[1], ".js") {
			want = "text/javascript"
		}
		if !strings.HasPrefix(a.header.Get("Content-Type"), want) || len(a.raw) < 100 {
			t.Errorf("%s: %s, %d bytes", asset[1], a.header.Get("Content-Type"), len(a.raw))
		}
		if !strings.Contains(a.header.Get("Content-Security-Policy"), "connect-src 'self'") {
			t.Errorf("%s may ask other hosts", asset[1])
		}
		plain := b.want(t, http.StatusOK, http.MethodGet, asset[1], nil, "Accept-Encoding", "identity").raw
		if !bytes.Equal(plain, a.raw) {
			t.Errorf("%s: %d bytes for a client without gzip, %d with it", asset[1], len(plain), len(a.raw))
		}
	}
	if a := b.want(t, http.StatusOK, http.MethodGet, "/openapi.json", nil); a.body["openapi"] != "3.1.0" {
		t.Errorf("openapi.json: %.80s", a.raw)
	}
	if a := b.want(t, http.StatusOK, http.MethodGet, "/openapi.yaml", nil); !strings.Contains(string(a.raw), "openapi: ") {
		t.Errorf("openapi.yaml: %.80s", a.raw)
	}
}
