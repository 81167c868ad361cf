// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// attacked is a check that a tenant asks for.
func attacked(kind string, config object) object {
	return object{"name": "x", "type": kind, "interval_seconds": 60, "regions": []string{clusterRegion}, "config": config}
}

// attackSecret points a check with a stored secret at another server.
func attackSecret(t *testing.T, c client) {
	t.Helper()
	config := func(url, secret string) object { return object{"url": url, "headers": object{"Authorization": secret}} }
	var made struct{ ID string }
	c.into(&made, http.MethodPost, "/v1/checks", attacked("http", config("http://127.0.0.1:9/", "Bearer s3cr3t")))
	at := "/v1/checks/" + made.ID
	for _, url := range []string{"http://127.0.0.2:9/", "http://127.0.0.1:10/", "https://127.0.0.1:9/"} {
		got := c.do(http.MethodPut, at, object{"config": config(url, "***")})
		if got.Status != http.StatusBadRequest || fmt.Sprint(got.Details["members"]) != "[config.headers.Authorization]" {
			t.Errorf("%s: status %d, %v: %s", url, got.Status, got.Details, got.Error)
		}
	}
	if got := c.do(http.MethodPut, at, object{"config": config("http://127.0.0.1:9/status", "***")}); got.Status != http.StatusOK {
		t.Errorf("another path of the same server: status %d: %s", got.Status, got.Error)
	}
}

// attackNames passes a name and a label off as other ones.
func attackNames(t *testing.T, c client) {
	t.Helper()
	for _, text := range []string{"pay\u202egnp.exe", "pay\u200broll"} {
		for member, value := range map[string]any{"name": text, "labels.team": object{"team": text}} {
			body := attacked("tcp", object{"host": "127.0.0.1", "port": 9})
			name, _, _ := strings.Cut(member, ".")
			body[name] = value
			if got := c.do(http.MethodPost, "/v1/checks", body); got.Status != http.StatusBadRequest || got.Details["member"] != member {
				t.Errorf("%s %q: status %d, %v: %s", member, text, got.Status, got.Details, got.Error)
			}
		}
	}
}

// attackSimpleRequests sends what a page of another site can without asking the browser's
// leave. While private targets are open its origin is enough to refuse it.
func attackSimpleRequests(t *testing.T, url string, want int) {
	t.Helper()
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://evil.example"}} {
		got := request(t, http.MethodPost, url+"/v1/auth/quick-signup", `{"email":"simple@example.com"}`, append(header, "Content-Type", "")...)
		if got.StatusCode != want {
			t.Errorf("%s: status %d, want %d", header, got.StatusCode, want)
		}
	}
}

// attackServers asks for mail to strangers, and for names of the operator's inside. The
// checks are disabled, so that nothing is sent even where one is accepted.
func attackServers(t *testing.T, c client) {
	t.Helper()
	login := object{"host": "imap.example.com", "username": "u", "password": "p"}
	for name, tt := range map[string]struct {
		kind    string
		config  object
		message string // a part of it
	}{
		"mail by a tcp check":   {"tcp", object{"host": "93.184.216.34", "port": 25}, "only smtp-imap checks reach"},
		"mail by an http check": {"http", object{"url": "http://93.184.216.34:587/"}, "only smtp-imap checks reach"},
		"who 10.0.0.1 is":       {"dns", object{"host": "10.0.0.1", "record_type": "PTR"}, "VIGIL_ALLOWED_PRIVATE_CIDRS"},
		"mail to strangers by a round trip": {"smtp-imap", object{
			"smtp": object{"host": "smtp.example.com"}, "imap": login, "from": "a@example.com", "to": "b@example.com",
		}, "config.smtp.username"},
	} {
		body := attacked(tt.kind, tt.config)
		body["enabled"] = false
		if got := c.do(http.MethodPost, "/v1/checks", body); got.Status != http.StatusBadRequest || !strings.Contains(got.Error, tt.message) {
			t.Errorf("%s: status %d, want a 400 with %q: %s", name, got.Status, tt.message, got.Error)
		}
	}
}

// attackThroughput asks, in an organization of the free plan, for more bytes an hour than it
// has. The operator's own organization has no limit.
func attackThroughput(t *testing.T, c client) {
	t.Helper()
	var made struct {
		APIKey string `json:"api_key"`
	}
	c.into(&made, http.MethodPost, "/v1/auth/quick-signup", object{"email": "tenant@example.com"})
	tenant := client{t: t, url: c.url, key: made.APIKey}
	var steps []object
	for i := range 10 {
		steps = append(steps, object{"name": fmt.Sprintf("s%d", i), "type": "throughput", "config": object{
			"url": "http://files.invalid/", "max_bytes": 100 << 20, "max_duration_seconds": 1, "timeout_seconds": 1,
		}})
	}
	body := attacked("multistep", object{"steps": steps}) // 58.6 GiB an hour
	body["retry"] = object{"attempts": 1, "delay_seconds": 0}
	got := tenant.do(http.MethodPost, "/v1/checks", body)
	if got.Status != http.StatusForbidden || got.Code != "plan_limit" || got.Details["limit"] != float64(100<<30) {
		t.Errorf("status %d, %s, %v: %s", got.Status, got.Code, got.Details, got.Error)
	}
}
