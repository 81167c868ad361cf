// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer"
)

// kumaUse is a column that Uptime Kuma uses for a monitor (server/model/monitor.js and
// server/monitor-types of 2.5).
type kumaUse struct {
	column string
	value  any            // another one than the default
	with   map[string]any // without which Kuma does not look at it
	lost   string         // what the report names; empty: the check has it
}

func kumaCommonUses() []kumaUse {
	return []kumaUse{
		{column: "name", value: "Other"},
		{column: "active", value: false},
		{column: "interval", value: 120},
		{column: "parent", value: 2},
		{column: "maxretries", value: 2, with: map[string]any{"notificationIDList": map[string]any{"9": true}}},
		{column: "retry_interval", value: 20, with: map[string]any{"maxretries": 2}, lost: "retry_interval"},
		{column: "upside_down", value: true, lost: "upside_down"},
		{column: "resend_interval", value: 5, lost: "resend_interval"},
		{column: "description", value: "x", lost: "description"},
	}
}

func kumaHTTPUses() []kumaUse {
	basic := map[string]any{"auth_method": "basic", "basic_auth_user": "a", "basic_auth_pass": "b"}
	ntlm := map[string]any{"auth_method": "ntlm", "basic_auth_user": "a"}
	oauth := map[string]any{
		"auth_method": "oauth2-cc", "oauth_client_id": "a", "oauth_client_secret": "b", "oauth_token_url": "https://id.example/token",
	}
	return []kumaUse{
		{column: "url", value: "https://other.example/"},
		{column: "method", value: "POST"},
		{column: "maxredirects", value: 0},
		{column: "ignore_tls", value: true},
		{column: "accepted_statuscodes_json", value: []any{"404"}},
		{column: "headers", value: `{"X-A": "b"}`},
		{column: "body", value: "x"},
		{column: "http_body_encoding", value: "xml", with: map[string]any{"body": "x"}},
		{column: "timeout", value: 20},
		{column: "ip_family", value: "ipv6"},
		{column: "auth_method", value: "basic", with: map[string]any{"basic_auth_user": "a"}},
		{column: "basic_auth_user", value: "c", with: basic},
		{column: "basic_auth_pass", value: "", with: basic},
		{column: "bearer_token", value: "c", with: map[string]any{"auth_method": "bearer"}},
		{column: "auth_domain", value: "c", with: ntlm, lost: "auth_method"},
		{column: "auth_workstation", value: "c", with: ntlm, lost: "auth_method"},
		{column: "oauth_client_id", value: "c", with: oauth},
		{column: "oauth_client_secret", value: "", with: oauth, lost: "oauth_client_secret"},
		{column: "oauth_token_url", value: "https://other.example/token", with: oauth},
		{column: "oauth_scopes", value: "c", with: oauth},
		{column: "oauth_audience", value: "c", with: oauth},
		{column: "oauth_auth_method", value: "client_secret_post", with: oauth},
		{column: "proxy_id", value: 3, lost: "proxy_id"},
		{column: "cache_bust", value: true, lost: "cache_bust"},
		{column: "expiry_notification", value: true, lost: "expiry_notification"},
		{column: "save_response", value: true, lost: "save_response"},
		{column: "save_error_response", value: false, lost: "save_error_response"},
		{column: "response_max_length", value: 5000, lost: "response_max_length"},
	}
}

func kumaGlobalpingUses() []kumaUse {
	basic := map[string]any{"auth_method": "basic", "basic_auth_user": "a", "basic_auth_pass": "b"}
	oauth := map[string]any{
		"auth_method": "oauth2-cc", "oauth_client_id": "a", "oauth_client_secret": "b", "oauth_token_url": "https://id.example/token",
	}
	return []kumaUse{
		{column: "url", value: "https://other.example/"},
		{column: "method", value: "HEAD"},
		{column: "ignore_tls", value: true},
		{column: "accepted_statuscodes_json", value: []any{"404"}},
		{column: "headers", value: `{"X-A": "b"}`},
		{column: "ip_family", value: "ipv6"},
		{column: "auth_method", value: "basic", with: map[string]any{"basic_auth_user": "a"}},
		{column: "basic_auth_user", value: "c", with: basic},
		{column: "basic_auth_pass", value: "", with: basic},
		{column: "bearer_token", value: "c", with: map[string]any{"auth_method": "bearer"}},
		{column: "oauth_client_id", value: "c", with: oauth},
		{column: "oauth_client_secret", value: "", with: oauth, lost: "oauth_client_secret"},
		{column: "oauth_token_url", value: "https://other.example/token", with: oauth},
		{column: "oauth_scopes", value: "c", with: oauth},
		{column: "oauth_audience", value: "c", with: oauth},
		{column: "oauth_auth_method", value: "client_secret_post", with: oauth},
		{column: "keyword", value: "x"},
		{column: "invert_keyword", value: true, with: map[string]any{"keyword": "x"}},
		{column: "json_path", value: "a.b"},
		{column: "json_path_operator", value: "!="},
		{column: "expected_value", value: "x"},
		{column: "location", value: "Berlin"},
		{column: "location", value: "Berlin", lost: "location: Berlin"},
		{column: "dns_resolve_server", value: "ns.other.example", lost: "dns_resolve_server: ns.other.example"},
		{column: "protocol", value: "HTTP2", lost: "protocol: HTTP2"},
		{column: "cache_bust", value: true, lost: "cache_bust"},
		{column: "expiry_notification", value: true, lost: "expiry_notification"},
	}
}

// kumaUses are the columns that Uptime Kuma uses, besides those of all monitors, by the type.
func kumaUses() map[string][]kumaUse {
	return map[string][]kumaUse{
		"http": kumaHTTPUses(),
		"keyword": append(kumaHTTPUses(),
			kumaUse{column: "keyword", value: "x"},
			kumaUse{column: "invert_keyword", value: true, with: map[string]any{"keyword": "x"}}),
		"json-query": append(kumaHTTPUses(),
			kumaUse{column: "json_path", value: "a.b"},
			kumaUse{column: "json_path_operator", value: "!="},
			kumaUse{column: "expected_value", value: "x"},
			kumaUse{column: "retry_only_on_status_code_failure", value: true, lost: "retry_only_on_status_code_failure"}),
		"port": {
			{column: "hostname", value: "other.example"},
			{column: "port", value: 81},
			{column: "expected_tls_alert", value: "certificate_required", lost: "expected_tls_alert"},
			{column: "smtp_security", value: "starttls", with: map[string]any{"expiry_notification": true}, lost: "smtp_security"},
		},
		"globalping http": kumaGlobalpingUses(),
		"globalping dns": {
			{column: "hostname", value: "other.example"},
			{column: "port", value: 5353},
			{column: "dns_resolve_server", value: "ns.other.example"},
			{column: "dns_resolve_type", value: "AAAA"},
			{column: "protocol", value: "TCP"},
			{column: "location", value: "Berlin"},
			{column: "keyword", value: "^10", lost: "keyword: ^10"},
			{column: "ip_family", value: "ipv6", lost: "ip_family: ipv6"},
		},
		"globalping ping": {
			{column: "hostname", value: "other.example"},
			{column: "ping_count", value: 5},
			{column: "protocol", value: "TCP"},
			{column: "port", value: 5353, with: map[string]any{"protocol": "TCP"}},
			{column: "location", value: "Berlin"},
			{column: "ip_family", value: "ipv6"},
			{column: "ip_family", value: "ipv6", with: map[string]any{"protocol": "TCP"}, lost: "ip_family: ipv6"},
		},
		"grpc-keyword": {
			{column: "grpc_url", value: "other.example:50051"},
			{column: "grpc_enable_tls", value: true},
			{column: "grpc_body", value: `{"service": "shop.v1.Orders"}`},
			{column: "grpc_body", value: "x", lost: "grpc_body"},
			{column: "grpc_protobuf", value: "package shop.v1;", lost: "grpc_method: Health/check"},
			{column: "grpc_service_name", value: "Orders", lost: "grpc_method: Orders/check"},
			{column: "grpc_method", value: "list", lost: "grpc_method: Health/list"},
			{column: "keyword", value: "up", lost: "keyword: up"},
			{column: "keyword", value: "SERVING", lost: "keyword: SERVING"}, // NOT_SERVING has it, too
			{column: "invert_keyword", value: true, lost: "keyword:"},
		},
		"real-browser": {
			{column: "url", value: "https://other.example/"},
			{column: "remote_browser", value: 3, lost: "remote_browser: 3"},
		},
		"tailscale-ping": {{column: "hostname", value: "other.example"}},
		"ping": {
			{column: "hostname", value: "other.example"},
			{column: "ping_count", value: 5},
			{column: "timeout", value: 20},
			{column: "packet_size", value: 100, lost: "packet_size"},
			{column: "ping_per_request_timeout", value: 5, lost: "ping_per_request_timeout"},
		},
		"dns": {
			{column: "hostname", value: "other.example"},
			{column: "port", value: 5353, with: map[string]any{"dns_resolve_server": "1.1.1.1"}},
			{column: "dns_resolve_server", value: "ns.other.example"},
			{column: "dns_resolve_type", value: "AAAA"},
			{column: "conditions", value: []any{map[string]any{"variable": "record", "operator": "equals", "value": "192.0.2.1"}}},
			{column: "conditions", value: []any{map[string]any{"variable": "record", "operator": "contains", "value": "1"}}, lost: "conditions"},
		},
		"smtp": {
			{column: "hostname", value: "other.example"}, {column: "port", value: 587}, {column: "smtp_security", value: "secure"},
		},
		"websocket-upgrade": {
			{column: "url", value: "wss://other.example/"},
			{column: "ws_subprotocol", value: "x"},
			{column: "timeout", value: 20},
			{column: "ignore_tls", value: true},
			{
				column: "ws_ignore_sec_websocket_accept_header", value: true, lost: "ws_ignore_sec_websocket_accept_header",
			},
			{column: "accepted_statuscodes_json", value: []any{"1001"}, lost: "accepted_statuscodes"},
		},
	}
}

// kumaMonitor imports one monitor with Kuma's defaults, and returns what is written of it and its losses.
func kumaMonitor(t *testing.T, kind string, columns ...map[string]any) (written, losses string) {
	t.Helper()
	row := kumaDefaults()
	maps.Copy(row, map[string]any{
		"type": kind, "url": "https://shop.example/", "hostname": "shop.example", "port": 80, "smtp_security": "starttls",
		"dns_resolve_server": "1.1.1.1", "expected_value": "ok", "domain_expiry_notification": 0,
	})
	switch kind, subtype, _ := strings.Cut(kind, " "); kind {
	case "globalping":
		row["type"], row["subtype"] = kind, subtype
	case "grpc-keyword":
		maps.Copy(row, map[string]any{
			"grpc_url": "shop.example:443", "grpc_service_name": "Health", "grpc_method": "check", "grpc_body": "{}",
			"grpc_protobuf": "syntax = \"proto3\";\npackage grpc.health.v1;", "keyword": `"SERVING"`,
		})
	case "websocket-upgrade":
		row["url"], row["accepted_statuscodes_json"] = "wss://shop.example/", []any{"1000"}
	case "port":
		row["smtp_security"] = nil
	}
	for _, more := range columns {
		maps.Copy(row, more)
	}
	list := asJSON(t, []any{
		row,
		map[string]any{"id": 2, "type": "group", "name": "Group"},
		map[string]any{"id": 9, "name": "Phone", "config": ntfy(9, "Phone")["config"]},
	})
	got := kuma(t, filepath.Join(staticMonitors(t, map[string]string{"list.json": list}), "list.json"))
	mentioned(t, got)
	if len(got.result.Checks) != 1 {
		t.Fatalf("there is no check:\n%s", got.report)
	}
	return at(t, got.document, "checks", got.result.Checks[0].Key), fmt.Sprint(got.result.Checks[0].Losses)
}

// TestKumaMembers holds for each column of a monitor and each type: what Kuma uses is carried over or
// named as lost, and what it does not use is neither.
func TestKumaMembers(t *testing.T) {
	t.Parallel()
	for kind, uses := range kumaUses() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			all := append(kumaCommonUses(), uses...)
			if kind == "tailscale-ping" { // its check is disabled in any case
				all = slices.DeleteFunc(all, func(use kumaUse) bool { return use.column == "active" })
			}
			for _, use := range all {
				before, _ := kumaMonitor(t, kind, use.with)
				after, losses := kumaMonitor(t, kind, use.with, map[string]any{use.column: use.value})
				switch {
				case use.lost == "" && before == after:
					t.Errorf("%s: %v is not carried over: %s", use.column, use.value, after)
				case use.lost != "" && !strings.Contains(losses, use.lost):
					t.Errorf("%s: %v is not named as lost: %s", use.column, use.value, losses)
				}
			}
			before, none := kumaMonitor(t, kind)
			for _, column := range importer.KumaMonitorColumns() {
				used := slices.ContainsFunc(all, func(use kumaUse) bool { return use.column == column })
				if used || slices.Contains([]string{"id", "type", "subtype", "active", "domain_expiry_notification"}, column) {
					continue
				}
				if after, losses := kumaMonitor(t, kind, map[string]any{column: "7"}); before != after || losses != none {
					t.Errorf("%s changes\n%s to\n%s, lost %s", column, before, after, losses)
				}
			}
		})
	}
}
