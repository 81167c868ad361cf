// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestRetry is about the member retry of a check.
func TestRetry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	shown := func(attempts, delay int, on string, unsafe bool) map[string]any {
		return map[string]any{"attempts": float64(attempts), "delay_seconds": float64(delay), "on": on, "unsafe": unsafe}
	}
	same := func(t *testing.T, check, want map[string]any) {
		t.Helper()
		if !reflect.DeepEqual(check["retry"], any(want)) {
			t.Errorf("retry is %v, want %v", check["retry"], want)
		}
	}

	t.Run("IsWrittenAsAWhole", func(t *testing.T) {
		t.Parallel()
		check := a.check(t)
		same(t, check, shown(0, 0, "any", false))
		path := "/v1/checks/" + text(check, "id")
		change := func(body string) map[string]any { return a.want(t, http.StatusOK, http.MethodPut, path, body).data(t) }
		same(t, change(`{"retry":{"attempts":2,"delay_seconds":5,"on":"network"}}`), shown(2, 5, "network", false))
		same(t, change(`{"name":"Another"}`), shown(2, 5, "network", false))
		same(t, a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t), shown(2, 5, "network", false))
		same(t, change(`{"retry":{"attempts":1}}`), shown(1, 0, "any", false))
		before := change(`{"retry":{"attempts":1,"on":"any"}}`)
		if again := change(`{"retry":{"attempts":1}}`); again["revision"] != before["revision"] {
			t.Errorf("the same retry made revision %v of %v", again["revision"], before["revision"])
		}
		same(t, change(`{"retry":{}}`), shown(0, 0, "any", false))
		made := a.want(t, http.StatusOK, http.MethodPost, "/v1/checks/bulk", map[string]any{
			"action": "set", "ids": []string{text(check, "id")}, "members": map[string]any{"retry": map[string]any{"attempts": 3}},
		}).data(t)
		if made["changed"] != 1.0 {
			t.Errorf("bulk changed %v", made["changed"])
		}
		same(t, a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t), shown(3, 0, "any", false))
	})

	t.Run("Mistakes", func(t *testing.T) {
		t.Parallel()
		path := "/v1/checks/" + text(a.check(t), "id")
		for body, member := range map[string]string{
			`{"retry":{"attempts":4}}`:       "retry.attempts",
			`{"retry":{"attempts":-1}}`:      "retry.attempts",
			`{"retry":{"attempts":"two"}}`:   "retry.attempts",
			`{"retry":{"delay_seconds":31}}`: "retry.delay_seconds",
			`{"retry":{"delay":"5s"}}`:       "retry.delay",
			`{"retry":{"on":"weather"}}`:     "retry.on",
			`{"retry":{"unsafe":"no"}}`:      "retry.unsafe",
			`{"retry":2}`:                    "retry",
		} {
			if r := a.want(t, http.StatusBadRequest, http.MethodPut, path, body); r.detail("member") != member {
				t.Errorf("%s names %v, want %s: %s", body, r.detail("member"), member, r.raw)
			}
		}
	})

	t.Run("MustFitTheInterval", func(t *testing.T) {
		t.Parallel()
		config := map[string]any{"url": "https://example.com/", "timeout_seconds": 11}
		retry := map[string]any{"attempts": 2, "delay_seconds": 5}
		body := func(interval int) map[string]any {
			return map[string]any{"name": "x", "type": "https", "config": config, "interval_seconds": interval, "retry": retry}
		}
		r := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", body(42))
		if r.detail("member") != "retry" || !strings.Contains(string(r.raw), "needs up to 43 s, the interval is 42 s") {
			t.Errorf("got %s", r.raw)
		}
		check := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body(43)).data(t)
		path := "/v1/checks/" + text(check, "id")
		for _, change := range []string{
			`{"interval_seconds":42}`,
			`{"config":{"url":"https://example.com/","timeout_seconds":12}}`,
			`{"retry":{"attempts":2,"delay_seconds":6}}`,
			`{"retry":{"attempts":3,"delay_seconds":0}}`,
		} {
			if r := a.want(t, http.StatusBadRequest, http.MethodPut, path, change); r.detail("member") != "retry" {
				t.Errorf("%s: %s", change, r.raw)
			}
		}
		a.want(t, http.StatusOK, http.MethodPut, path, `{"interval_seconds":42,"retry":{"attempts":1}}`)
	})

	t.Run("UnsafeProbesNeedPermission", func(t *testing.T) {
		t.Parallel()
		step := func(method string) map[string]any {
			return map[string]any{"steps": []any{
				map[string]any{"name": "first", "type": "https", "config": map[string]any{"url": "https://example.com/"}},
				map[string]any{"name": "order", "type": "https", "config": map[string]any{"url": "https://example.com/", "method": method}},
			}}
		}
		url := func(more ...any) map[string]any {
			config := map[string]any{"url": "https://example.com/"}
			for i := 0; i < len(more); i += 2 {
				config[fmt.Sprint(more[i])] = more[i+1]
			}
			return config
		}
		for name, c := range map[string]struct {
			kind   string
			config map[string]any
			reason string // empty: safe
		}{
			"Get":      {"https", url(), ""},
			"Head":     {"http", url("method", "HEAD"), ""},
			"Options":  {"http3", url("method", "OPTIONS"), ""},
			"Post":     {"https", url("method", "POST"), "config.method is POST"},
			"Put":      {"http", url("method", "PUT"), "config.method is PUT"},
			"Patch":    {"https", url("method", "PATCH"), "config.method is PATCH"},
			"Delete":   {"http3", url("method", "DELETE"), "config.method is DELETE"},
			"TCP":      {"tcp", map[string]any{"host": "example.com", "port": 80}, ""},
			"DNS":      {"dns", map[string]any{"host": "example.com"}, ""},
			"SSL":      {"ssl", map[string]any{"host": "example.com"}, ""},
			"Ping":     {"ping", map[string]any{"host": "example.com"}, ""},
			"Download": {"throughput", url("max_bytes", 1000), ""},
			"Upload":   {"throughput", url("max_bytes", 1000, "direction", "upload"), "config.direction is upload"},
			"Mail": {"smtp-imap", map[string]any{"imap": map[string]any{
				"host": "mail.example.com", "port": 993, "security": "tls", "username": "a", "password": "b",
			}}, "a check of this type"},
			"Steps":       {"multistep", step("GET"), ""},
			"UnsafeSteps": {"multistep", step("POST"), `in step \"order\" config.method is POST`},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				body := map[string]any{
					"name": "x", "type": c.kind, "config": c.config, "interval_seconds": 3600, "retry": map[string]any{"attempts": 1},
				}
				if c.reason == "" {
					a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body)
					return
				}
				r := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", body)
				if r.detail("member") != "retry.unsafe" || !strings.Contains(string(r.raw), c.reason) {
					t.Errorf("got %s", r.raw)
				}
				body["retry"] = map[string]any{"attempts": 1, "unsafe": true}
				a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body)
			})
		}
	})

	t.Run("IsAMemberOfFiles", func(t *testing.T) {
		t.Parallel()
		a := b.tier(t, b.signup(t), account.TierPaid)
		apply := func(status int, retry string) answer {
			return a.want(t, status, http.MethodPost, "/v1/apply", `{"project":"shop","document":{"version":1,
				"defaults":{"check":{"retry":{"delay":"2s"}}},
				"checks":{"home":{"type":"https","interval":"1m","config":{"url":"https://example.com/"},"retry":`+retry+`}}}}`)
		}
		apply(http.StatusOK, `{"attempts":2,"on":"network"}`)
		check := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t)[0]
		same(t, check, shown(2, 2, "network", false))
		changed := apply(http.StatusOK, `{"attempts":1,"delay":"7s"}`)
		for _, want := range []string{
			`"path":"retry.attempts","from":2,"to":1`, `"path":"retry.delay","from":"2s","to":"7s"`, `"path":"retry.on","from":"network"`,
		} {
			if !strings.Contains(string(changed.raw), want) {
				t.Errorf("the changes lack %s: %s", want, changed.raw)
			}
		}
		if did := actions(t, apply(http.StatusOK, `{"attempts":1,"delay":"0m7s","unsafe":false}`)); len(did) != 0 {
			t.Errorf("the same again did %v", did)
		}
		for retry, want := range map[string]string{
			`{"attempts":1,"delay":"soon"}`: "checks.home.retry.delay",
			`{"attempts":9}`:                "checks.home.retry.attempts",
			`{"attempts":3,"delay":"30s"}`:  "checks.home.retry",
		} {
			if r := apply(http.StatusBadRequest, retry); !strings.Contains(string(r.raw), `"`+want+`"`) {
				t.Errorf("%s: %s does not name %s", retry, r.raw, want)
			}
		}
	})
}
