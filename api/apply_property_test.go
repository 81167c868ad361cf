// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// checkSpecimens are configs of each check type: with all members, and with few.
func checkSpecimens() map[vigil.CheckType][]doc {
	web := doc{
		"url": "https://example.com/health?a=1&b=<x>", "method": "POST", "expected_status_codes": []any{"2xx", "3xx"},
		"headers": doc{"Authorization": "Bearer hunter2", "X-Team": "web"}, "body": "{\"a\": \"\u00e4\u2028\"}", "follow_redirects": false,
		"verify_tls": false, "basic_auth": doc{"username": "ada", "password": "hunter2"}, "ip_version": "4", "timeout": "9s",
		"assertions": []any{
			doc{"source": "json", "property": "$.status", "operator": "eq", "target": 1}, doc{"source": "body", "operator": "exists"},
		},
	}
	delete(web, "basic_auth") // excluded by the header
	granted := doc{
		"url": "https://example.com/", "proxy": "http://proxy.example.com:3128", "proxy_auth": doc{"username": "ada", "password": "hunter2"},
		"oauth2": doc{
			"token_url": "https://id.example.com/token", "client_id": "ada", "client_secret": "hunter3", "scopes": []any{"a"},
		},
		"tls": doc{"server_name": "b.example.com"},
	}
	secure := doc{"url": "https://example.com/", "basic_auth": doc{"username": "ada", "password": "hunter2"}, "expected_status_code": 200}
	return map[vigil.CheckType][]doc{
		vigil.TypeHTTP: {with3(web, "url", "http://example.com/"), {"url": "http://example.com/"}}, vigil.TypeHTTPS: {web, secure, granted},
		vigil.TypeHTTP3: {{"url": "https://example.com/", "timeout_seconds": 5}},
		vigil.TypeTCP: {
			{"host": "db.example.com", "port": 5433, "security": "tls", "verify_tls": false, "tls": doc{"server_name": "b.example.com"}},
			{"host": "db.example.com", "port": 5432, "send": "PING\n", "expect": "PONG", "timeout": "5s"},
			{"host": "db.example.com", "port": 5432},
		},
		vigil.TypeGRPC: {
			{
				"host": "api.example.com", "port": 443, "service": "shop.v1.Orders", "verify_tls": false, "tls": doc{"server_name": "b.example.com"},
				"headers": doc{"Authorization": "Bearer hunter2", "X-Team": "web"},
			}, {"host": "api.example.com", "port": 50051, "security": "none", "timeout": "5s"},
		},
		vigil.TypeWebSocket: {
			{
				"url": "wss://example.com/live?a=1", "headers": doc{"Authorization": "Bearer hunter2", "Origin": "https://example.com"},
				"subprotocols": []any{"v1.chat"}, "send": "ping", "expect": "pong", "tls": doc{"server_name": "b.example.com"}, "timeout": "5s",
			}, {"url": "ws://example.com/"},
		},
		vigil.TypeDomain: {
			{
				"domain":            "example.com",
				"alert_days_before": 0,
				"rdap_server":       "https://rdap.example.com/",
				"timeout":           "5s",
			},
			{"domain": "example.com"},
		},
		vigil.TypeHeartbeat: {
			{"schedule": doc{"every_seconds": 120}, "grace_seconds": 60, "max_duration_seconds": 30, "require_start": true},
			{"schedule": doc{"every_seconds": 120}},
		},
		vigil.TypePing: {{"host": "example.com", "packet_count": 5, "max_packet_loss_percent": 12.5}, {"host": "example.com"}},
		vigil.TypeDNS: {{
			"host": "example.com", "record_type": "MX", "resolvers": []any{"1.1.1.1"}, "protocol": "tcp",
			"expected_values": []any{"10 mx.example.com."}, "match": "all",
		}, {"host": "example.com"}},
		vigil.TypeSSL: {{"host": "example.com", "port": 8443, "alert_days_before": 0, "server_name": "example.com"}, {"host": "example.com"}},
		vigil.TypeThroughput: {{
			"url": "https://example.com/10MB.bin", "direction": "upload", "min_mbps": 0.5, "max_bytes": 1000000, "max_duration_seconds": 5,
		}, {"url": "https://example.com/10MB.bin"}},
		vigil.TypeSMTPIMAP: {{
			"smtp": doc{"host": "smtp.example.com", "port": 587, "security": "starttls", "username": "u", "password": "hunter2"},
			"imap": doc{"host": "imap.example.com", "username": "u", "password": "hunter3", "mailbox": "Probe"}, "round_trip": true,
			"from": "a@example.com", "to": "b@example.com",
		}, {"imap": doc{"host": "imap.example.com"}}},
		vigil.TypeMultistep: {{"steps": []any{
			doc{"name": "log in", "type": "https", "config": doc{
				"url": "https://example.com/login", "headers": doc{"X-Token": "hunter2"}, "timeout": "4s",
			}, "extract": []any{doc{"name": "token", "source": "json", "property": "$.token"}}},
			doc{"name": "use", "type": "https", "config": doc{"url": "https://example.com/", "headers": doc{"Authorization": "Bearer {{token}}"}}},
		}}},
	}
}

func with3(object doc, name string, value any) doc {
	copied := doc{}
	for key, one := range object {
		copied[key] = one
	}
	copied[name] = value
	return copied
}

func channelSpecimens() map[vigil.ChannelType][]doc {
	return map[vigil.ChannelType][]doc{
		vigil.ChannelEmail: {{"to": []any{"ada@example.com", "grace@example.com"}}, {"email": "ada@example.com"}},
		vigil.ChannelWebhook: {{
			"url": "https://hooks.example.com/x", "method": "PUT", "secret": "hunter2",
			"headers": doc{"Authorization": "Bearer hunter2", "X-Team": "web"}, "title_template": "{{severity}}: {{check_name}}",
		}, {"url": "https://hooks.example.com/x"}},
		vigil.ChannelPush: {
			{"topic": "alerts", "server": "https://push.example.com", "username": "u", "password": "hunter2"}, {"topic": "alerts"},
		},
		vigil.ChannelChat:  {{"webhook_url": "https://chat.example.com/hooks/1"}},
		vigil.ChannelPager: {{"routing_key": "R0123456789012345678901234567890"}},
	}
}

func ruleForms() []doc {
	return []doc{
		{"condition": doc{"failure_threshold": 2}},
		{"condition": doc{"health_status": "down", "severity": "warning"}},
		{"condition": doc{"health_status": "healthy"}},
		{"condition": doc{"response_time_ms": 0}},
		{"condition": doc{"status_code": 500, "failure_threshold": 3, "severity": "info"}},
		{"condition": doc{"dns_changed": true}},
		{"condition": doc{"ssl_days_remaining": 14}},
		{"condition": doc{"type": "consecutive_failures", "threshold": 4, "operator": "gte"}},
		{"condition": doc{"type": "ssl_expiry", "threshold": 7}},
		{"condition_type": "response_time", "threshold": 900},
		{"condition_type": "status_code", "threshold": 500},
		{"condition_type": "ssl_expiry", "threshold": 0},
		{"condition": doc{"failure_threshold": 2}, "condition_type": "consecutive_failures", "threshold": 2},
	}
}

// writer writes the same document in many ways: with its members in any order, numbers and
// durations in any form, and regions under any of their names.
type writer struct{ *rand.Rand }

func (w writer) write(node any) string {
	switch node := node.(type) {
	case map[string]any:
		names := make([]string, 0, len(node))
		for name := range node {
			names = append(names, name)
		}
		slices.Sort(names)
		w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, name := range names {
			names[i] = w.text(name) + ":" + w.write(node[name])
		}
		return "{" + strings.Join(names, ",") + "}"
	case []any:
		items := make([]string, len(node))
		for i, item := range node {
			items[i] = w.write(item)
		}
		return "[" + strings.Join(items, ",") + "]"
	case int:
		return fmt.Sprintf([]string{"%d", "%d.0", "%de0"}[w.IntN(3)], node)
	case string:
		return w.text(node)
	}
	text, _ := json.Marshal(node)
	return string(text)
}

func (w writer) text(s string) string {
	text, _ := json.Marshal(s) // with escapes for HTML
	if w.IntN(2) == 0 {
		text = []byte(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text)))
	}
	return string(text)
}

// pick returns one of several forms.
func (w writer) pick(forms ...any) any { return forms[w.IntN(len(forms))] }

// check is a check in the file, with what the defaults have or may have.
func (w writer) check(kind vigil.CheckType, config doc, rules doc) (check, defaults doc) {
	check = doc{"name": w.pick("Specimen", " Specimen "), "type": string(kind), "config": config, "rules": rules}
	if w.IntN(2) == 0 {
		check["interval"] = w.pick("120s", "2m", "1m60s")
	} else {
		check["interval_seconds"] = 120
	}
	defaults = doc{}
	place := func(name string, value any) {
		if w.IntN(2) == 0 {
			check[name] = value
		} else {
			defaults[name] = value
		}
	}
	if kind == vigil.TypeHeartbeat { // is not probed from regions, and not again
		place("labels", doc{"team": "shop", "a/b": ""})
		defaults["regions"], defaults["retry"], defaults["interval"] = []any{"eu-central-fra"}, doc{"attempts": 1}, "1h"
		return check, defaults
	}
	place("regions", []any{
		w.pick("eu-central-1", "europe-west3", "eu-central-fra"), w.pick("us-east-1", "eastus", "na-east-ewr"), "us-east-1",
	})
	place("labels", doc{"team": "shop", "a/b": ""})
	again := 1
	if kind == vigil.TypeSMTPIMAP { // whose two attempts do not fit
		again = 0
	}
	place("retry", w.pick(
		doc{"attempts": again, "delay": "5s", "unsafe": true},
		doc{"attempts": again, "delay_seconds": 5, "unsafe": true, "on": "any"},
	))
	if w.IntN(2) == 0 { // as the API has it by default
		check["simultaneous_regions"] = true
	}
	return check, defaults
}

// TestSecondPlanIsEmpty holds for each type in the registries: what was applied is not
// changed by applying it again, however the document is written.
func TestSecondPlanIsEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t)
	guard := egress.New(egress.Policy{AllowPrivate: true})
	specimens, channels := checkSpecimens(), channelSpecimens()
	for _, kind := range probe.NewRegistry(guard).Types() {
		if len(specimens[kind]) == 0 {
			t.Errorf("no specimen of the check type %s", kind)
		}
	}
	for _, kind := range notify.NewRegistry(guard).Types() {
		if len(channels[kind]) == 0 {
			t.Errorf("no specimen of the channel type %s", kind)
		}
	}
	twice := func(t *testing.T, document func(writer) doc) {
		t.Helper()
		a := b.tier(t, b.signup(t), account.TierPaid)
		for round := range uint64(6) {
			w := writer{rand.New(rand.NewPCG(round, 7))}
			body := fmt.Sprintf(`{"project":"shop","document":%s}`, w.write(document(w)))
			applied := a.want(t, http.StatusOK, http.MethodPost, "/v1/apply", body)
			if did := actions(t, applied); round > 0 && len(did) > 0 {
				t.Fatalf("round %d: %s changes %s", round, body, applied.raw)
			} else if round == 0 && len(did) == 0 {
				t.Fatalf("nothing was made of %s", body)
			}
			if strings.Contains(string(applied.raw), "hunter") {
				t.Fatalf("the answer shows a secret: %s", applied.raw)
			}
		}
	}
	for kind, configs := range specimens {
		for i, config := range configs {
			t.Run(fmt.Sprintf("Check/%s/%d", kind, i), func(t *testing.T) {
				t.Parallel()
				twice(t, func(w writer) doc {
					check, defaults := w.check(kind, config, doc{})
					return doc{"version": 1, "defaults": doc{"check": defaults}, "checks": doc{"one": check}}
				})
			})
		}
	}
	for kind, configs := range channels {
		for i, config := range configs {
			t.Run(fmt.Sprintf("Channel/%s/%d", kind, i), func(t *testing.T) {
				t.Parallel()
				twice(t, func(w writer) doc {
					return doc{"version": 1, "channels": doc{"one": doc{
						"name": "Channel", "type": string(kind), "config": config, "enabled": w.pick(true, true), "labels": doc{"b": "1", "a": "2"},
					}}}
				})
			})
		}
	}
	t.Run("RulesAndPages", func(t *testing.T) {
		t.Parallel()
		twice(t, func(w writer) doc {
			rules := doc{}
			for i, form := range ruleForms() {
				rules[fmt.Sprintf("r%d", i)] = with3(form, "channels", w.pick([]any{"a", "b"}, []any{"a", "b", "a"}, []any{"a", "name:B"}))
				if w.IntN(2) == 0 {
					rules[fmt.Sprintf("r%d", i)].(doc)["region_policy"] = "any"
				}
			}
			check, defaults := w.check(vigil.TypeHTTPS, specimens[vigil.TypeHTTPS][0], rules)
			hook := func(name string) doc {
				return doc{"name": name, "type": "webhook", "config": doc{"url": "https://hooks.example.com/x"}}
			}
			return doc{
				"version": 1, "defaults": doc{"check": defaults, "rule": doc{"notify_on": "both"}}, "checks": doc{"one": check},
				"channels": doc{"a": hook("A"), "b": hook("B")},
				"status_pages": doc{"public": doc{"slug": "second-plan", "title": "Shop", "groups": []any{
					doc{"name": "Web", "checks": []any{w.pick("one", doc{"check": "one"}, doc{"check": "one", "name": "Specimen"}, "name:Specimen")}},
				}}},
			}
		})
	})
}
