// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// ping is the smallest request of MCP.
const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// post sends a request without a client of MCP.
func (s *site) post(t *testing.T, method, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestRequestsThatAreRefusedAreAnsweredAsTheAPIDoes(t *testing.T) {
	t.Parallel()
	s := open(t, "https://vigil.example.com")
	a := s.signUp(t)
	bearer := "Bearer " + a.key
	for _, tt := range []struct {
		name, method, body string
		headers            []string
		status             int
		code               string
	}{
		{"NoCredential", http.MethodPost, ping, nil, http.StatusUnauthorized, "unauthorized"},
		{"WrongKey", http.MethodPost, ping, []string{"Authorization", "Bearer vgl_wrong"}, http.StatusUnauthorized, "unauthorized"},
		{"Get", http.MethodGet, "", []string{"Authorization", bearer}, http.StatusMethodNotAllowed, "method_not_allowed"},
		{"Delete", http.MethodDelete, "", []string{"Authorization", bearer}, http.StatusMethodNotAllowed, "method_not_allowed"},
		{"ForeignHost", http.MethodPost, ping, []string{"Authorization", bearer, "Host", "attacker.example"}, http.StatusForbidden, "forbidden"},
		{
			"ForeignOrigin", http.MethodPost, ping,
			[]string{"Authorization", bearer, "Origin", "https://attacker.example", "Sec-Fetch-Site", "cross-site"},
			http.StatusForbidden, "forbidden",
		},
		{
			"LargeBody", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`,
			[]string{"Authorization", bearer},
			http.StatusRequestEntityTooLarge, "payload_too_large",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, text := s.post(t, tt.method, tt.body, tt.headers...)
			var refusal struct {
				Error, Code string
				RequestID   string `json:"request_id"`
			}
			err := json.Unmarshal([]byte(text), &refusal)
			if res.StatusCode != tt.status || err != nil || refusal.Code != tt.code || refusal.Error == "" {
				t.Errorf("%d %s (%v)", res.StatusCode, text, err)
			}
			if refusal.RequestID == "" || refusal.RequestID != res.Header.Get("X-Request-Id") {
				t.Errorf("the request id is %q, the header %q", refusal.RequestID, res.Header.Get("X-Request-Id"))
			}
			if tt.status == http.StatusUnauthorized && !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("WWW-Authenticate is %q", res.Header.Get("WWW-Authenticate"))
			}
			if tt.status == http.StatusMethodNotAllowed && res.Header.Get("Allow") != http.MethodPost {
				t.Errorf("Allow is %q", res.Header.Get("Allow"))
			}
		})
	}
	for _, host := range []string{"localhost", "127.0.0.1:8080", "[::1]:8080", "vigil.example.com", "VIGIL.example.com:443"} {
		if res, text := s.post(t, http.MethodPost, ping, "Authorization", bearer, "Host", host); res.StatusCode != http.StatusOK {
			t.Errorf("Host %s: %d %s", host, res.StatusCode, text)
		}
	}
}

func TestASessionWorksBehindAProxyWithThePublicHost(t *testing.T) {
	t.Parallel()
	s := open(t, "https://vigil.example.com")
	a := s.signUp(t)
	c := s.connect(t, "", &sender{key: a.key, host: "vigil.example.com"})
	links := member(t, c.use("get_overview", args{}), "links")
	if links["dashboard"] != "https://vigil.example.com/app" {
		t.Errorf("the links are %v", links)
	}
}

func TestTwoProcessesAnswerInTurn(t *testing.T) {
	t.Parallel()
	one := open(t, "")
	two := openOn(t, one.store, one.public)
	w := one.world(t)
	c := one.connect(t, "2025-06-18", &sender{key: w.key, urls: []string{one.url, two.url}})
	for i := range 6 {
		name := fmt.Sprintf("Check %d", i)
		made := member(t, c.use("save_check", args{
			"name": name, "type": "tcp", "interval_seconds": 60, "config": args{"host": "127.0.0.1", "port": 1},
		}), "check")
		if shown := member(t, c.use("get_check", args{"check": name}), "check"); shown["id"] != made["id"] {
			t.Errorf("%s is %v in one process and %v in the other", name, made["id"], shown["id"])
		}
	}
}

func TestWhatBelongsToAnotherOrganizationIsNotFound(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	w, other := s.world(t), s.signUp(t)
	channel := other.create(t, "/v1/notification-channels", map[string]any{
		"name": "Mine", "type": "webhook", "config": map[string]any{"url": "http://127.0.0.1:9/"},
	})
	subscription := w.create(t, "/v1/subscriptions", map[string]any{"name": "All", "channel_id": w.channel, "events": []any{"check.*"}})
	drill := w.create(t, "/v1/drills", map[string]any{"channel_ids": []any{w.channel}})
	schedule := w.create(t, "/v1/drill-schedules", map[string]any{
		"name": "Monthly", "channel_ids": []any{w.channel},
		"recurrence": map[string]any{"every": "monthly", "day": 1, "hour": 9, "timezone": "UTC"},
	})
	deliveries := s.connect(t, "", &sender{key: w.key}).use("list_deliveries", args{})
	rows, _ := deliveries["deliveries"].([]any)
	delivery, _ := rows[0].(map[string]any)
	c := s.connect(t, "", &sender{key: other.key})
	for _, use := range []struct {
		tool      string
		arguments args
	}{
		{"get_check", args{"check": w.check}},
		{"get_check", args{"check": "Shop"}},
		{"get_results", args{"check": w.check}},
		{"get_uptime", args{"checks": []string{w.check}}},
		{"backtest_rules", args{"check": w.check, "rules": []any{args{"condition": args{"failure_threshold": 1}}}}},
		{"get_incident", args{"incident": w.incident}},
		{"try_check", args{"check": w.check}},
		{"save_check", args{"id": w.check, "name": "Mine now"}},
		{"save_rule", args{
			"check": w.check, "name": "Mine", "condition": args{"failure_threshold": 1}, "notification_channel_ids": []any{channel},
		}},
		{"save_channel", args{"id": w.channel, "name": "Mine now"}},
		{"save_subscription", args{"id": subscription, "name": "Mine now"}},
		{"delete_object", args{"kind": "subscription", "id": subscription, "confirm": "All"}},
		{"list_drills", args{"drill": drill}},
		{"run_drill", args{"cancel": drill}},
		{"run_drill", args{"check": "Shop"}},
		{"run_drill", args{"channels": []string{"Hook"}}},
		{"save_drill_schedule", args{"id": schedule, "enabled": false}},
		{"delete_object", args{"kind": "drill_schedule", "id": schedule, "confirm": "Monthly"}},
		{"set_checks_enabled", args{"checks": []string{w.check}, "enabled": false}},
		{"delete_object", args{"kind": "check", "id": w.check, "confirm": "Shop"}},
		{"delete_object", args{"kind": "rule", "id": w.rule, "confirm": "Down"}},
		{"delete_object", args{"kind": "channel", "id": w.channel, "confirm": "Hook"}},
		{"update_incident", args{"incident": w.incident, "action": "acknowledge"}},
		{"send_message", args{"channel": w.channel}},
		{"send_message", args{"delivery": delivery["id"]}},
	} {
		foreign := c.refused(use.tool, use.arguments)
		if foreign["code"] != "not_found" {
			t.Errorf("%s %v: %v", use.tool, use.arguments, foreign)
		}
	}
	for tool, members := range map[string]string{
		"list_checks": "checks", "list_incidents": "incidents", "list_deliveries": "deliveries",
		"list_drills": "drills",
	} {
		if rows, _ := c.use(tool, args{})[members].([]any); len(rows) != 0 {
			t.Errorf("%s shows rows of another organization: %v", tool, rows)
		}
	}
	if got := w.received.count(); got != 0 {
		t.Errorf("the receiver of another organization got %d messages", got)
	}
}

func TestTheAuditLogNamesTheAssistant(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"2026-07-28": "mcp/" + clientName, "2025-06-18": "mcp/Go-http-client"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := open(t, "")
			w := s.world(t)
			c := s.connect(t, version, &sender{key: w.key})
			c.use("set_checks_enabled", args{"checks": []string{"Shop"}, "enabled": false})
			var entries []struct {
				Action    string
				UserAgent string `json:"user_agent"`
				Address   string
			}
			w.call(t, http.MethodGet, "/v1/audit-log", nil, &entries)
			if len(entries) == 0 || entries[0].UserAgent != want || entries[0].Address != "127.0.0.1" {
				t.Errorf("the newest entry is %+v", entries[0])
			}
		})
	}
}

// TestBatches pins that each message of a batch counts as a request, and how many there may be.
func TestBatches(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	auth := "Bearer " + a.key
	batch := func(count int) string { return "[" + strings.TrimSuffix(strings.Repeat(ping+",", count), ",") + "]" }
	left := func() (left int64) {
		query := "SELECT sum(leased) FROM rate_windows"
		if err := s.store.DB().NewRaw(query).Scan(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		return left
	}
	s.post(t, http.MethodPost, batch(20), "Authorization", auth)
	if got := left(); got < 20 {
		t.Errorf("a batch of 20 messages counts for %d", got)
	}
	for _, body := range []string{batch(21), batch(5000), "[" + strings.Repeat("{},", 20) + "{}]"} {
		res, text := s.post(t, http.MethodPost, body, "Authorization", auth)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(text, "it may have 20") && !strings.Contains(text, "values") {
			t.Errorf("%d %.200s", res.StatusCode, text)
		}
	}
	res, text := s.post(t, http.MethodPost, "["+strings.Repeat("0,", 500_000)+"0]", "Authorization", auth)
	if res.StatusCode != http.StatusBadRequest || len(text) > 1000 {
		t.Errorf("%d, %d bytes", res.StatusCode, len(text))
	}
	spend := "UPDATE rate_windows SET leased = 1000000, started = now()"
	if _, err := s.store.DB().NewRaw(spend).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 { // what this process has leased is less than 100
		res, text = s.post(t, http.MethodPost, batch(20), "Authorization", auth)
	}
	if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "rate_limited") {
		t.Errorf("%d %.200s", res.StatusCode, text)
	}
}

func TestRequestsCountInTheRateOfTheOrganization(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	s.post(t, http.MethodPost, ping, "Authorization", "Bearer "+a.key)
	spend := "UPDATE rate_windows SET leased = 1000000, started = now()"
	if _, err := s.store.DB().NewRaw(spend).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Another process has no share of the window yet.
	other := openOn(t, s.store, s.public)
	res, text := other.post(t, http.MethodPost, ping, "Authorization", "Bearer "+a.key)
	if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "rate_limited") || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s, Retry-After %q", res.StatusCode, text, res.Header.Get("Retry-After"))
	}
}
