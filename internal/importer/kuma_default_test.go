// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"
)

// kumaDefaults are the columns that Uptime Kuma 2.5 writes for a new monitor of any type, as its page
// has them (monitorDefaults of EditMonitor.vue).
func kumaDefaults() map[string]any {
	return map[string]any{
		"id":                                1,
		"name":                              "It",
		"url":                               "https://",
		"method":                            "GET",
		"location":                          "world",
		"interval":                          60,
		"retry_interval":                    60,
		"resend_interval":                   0,
		"maxretries":                        0,
		"retry_only_on_status_code_failure": 0,
		"ignore_tls":                        0,
		"upside_down":                       0,
		"expiry_notification":               0,
		"domain_expiry_notification":        1,
		"maxredirects":                      10,
		"accepted_statuscodes_json":         `["200-299"]`,
		"save_response":                     0,
		"save_error_response":               1,
		"response_max_length":               1024,
		"dns_resolve_type":                  "A",
		"dns_resolve_server":                "",
		"docker_container":                  "",
		"basic_auth_user":                   "",
		"basic_auth_pass":                   "",
		"bearer_token":                      "",
		"mqtt_username":                     "",
		"mqtt_topic":                        "",
		"mqtt_websocket_path":               "",
		"mqtt_success_message":              "",
		"mqtt_check_type":                   "keyword",
		"oauth_auth_method":                 "client_secret_basic",
		"http_body_encoding":                "json",
		"kafka_producer_brokers":            "[]",
		"kafka_producer_sasl_options":       `{"mechanism":"None"}`,
		"cache_bust":                        0,
		"kafka_producer_ssl":                0,
		"kafka_producer_allow_auto_topic_creation": 0,
		"gamedig_given_port_only":                  1,
		"screenshot_delay":                         0,
		"rabbitmq_nodes":                           "[]",
		"rabbitmq_username":                        "",
		"conditions":                               "[]",
		"ntp_stratum_threshold":                    5,
		"ntp_time_offset_threshold":                1000,
		"ntp_root_dispersion_threshold":            500,
		"ping_count":                               3,
		"ping_numeric":                             1,
		"packet_size":                              56,
		"ping_per_request_timeout":                 2,
		"timeout":                                  48,
		"weight":                                   2000,
		"active":                                   1,
		"snmp_version":                             "2c",
		"json_path":                                "$",
		"json_path_operator":                       "==",
		"ws_subprotocol":                           "",
		"system_service_name":                      "",
	}
}

// TestKumaDefaults holds that a monitor with Kuma's own defaults is carried over whole.
func TestKumaDefaults(t *testing.T) {
	t.Parallel()
	for kind, more := range map[string]map[string]any{
		"http":              {"url": "https://www.shop.co.uk/"},
		"keyword":           {"url": "https://www.shop.co.uk/", "keyword": "Pay"},
		"json-query":        {"url": "https://www.shop.co.uk/", "json_path": "status", "expected_value": "ok"},
		"port":              {"hostname": "db.shop.co.uk", "port": 5432},
		"ping":              {"hostname": "db.shop.co.uk", "timeout": 10},
		"dns":               {"hostname": "shop.co.uk", "port": 53, "dns_resolve_server": "1.1.1.1", "dns_last_result": "Records: 192.0.2.1"},
		"smtp":              {"hostname": "mail.shop.co.uk", "smtp_security": "starttls"},
		"websocket-upgrade": {"url": "wss://www.shop.co.uk/", "accepted_statuscodes_json": `["1000"]`},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			row := kumaDefaults()
			row["type"] = kind
			maps.Copy(row, more)
			got := kuma(t, importertest.KumaDatabase(t, "2.5.3", importertest.Rows{
				"monitor":              {row},
				"notification":         {ntfy(1, "Phone")},
				"monitor_notification": {{"monitor_id": 1, "notification_id": 1}},
			}))
			mentioned(t, got)
			if at(t, got.document, "checks", "it") == "null" || got.result.Lossy() {
				t.Errorf("it is not carried over whole:\n%s", got.report)
			}
			want := `{"config":{"alert_days_before":21,"domain":"shop.co.uk"},"interval":"1h","name":"shop.co.uk domain","rules":{"expires-phone":` +
				`{"channels":["phone"],"condition":{"failure_threshold":1,"severity":"warning"},"name":"Domain expires: Phone",` +
				`"notify_on":"both"}},"type":"domain"}`
			if is := at(t, got.document, "checks", "shop-co-uk-domain"); is != want {
				t.Errorf("the check of the domain is\n%s\nexpected\n%s", is, want)
			}
		})
	}
}

func ntfy(id int, name string) map[string]any {
	return map[string]any{
		"id": id, "name": name, "active": 1, "is_default": 0,
		"config": `{"type":"ntfy","name":"` + name + `","ntfyserverurl":"https://ntfy.shop.example","ntfytopic":"shop"}`,
	}
}

// TestKumaDomains holds that one check watches a domain that many monitors name, with the channels of
// all of them, and none where Kuma would warn of nothing.
func TestKumaDomains(t *testing.T) {
	t.Parallel()
	var monitors, uses []map[string]any
	add := func(url string, notification, active int) {
		row := kumaDefaults()
		maps.Copy(row, map[string]any{"id": len(monitors) + 1, "name": url, "type": "http", "url": url, "active": active})
		monitors = append(monitors, row)
		if notification > 0 {
			uses = append(uses, map[string]any{"monitor_id": len(monitors), "notification_id": notification})
		}
	}
	add("https://www.shop.com/", 1, 0)
	add("https://api.shop.com:8443/", 2, 1)
	add("https://paused.org/", 1, 0)
	add("https://quiet.net/", 0, 1)          // no notification
	add("https://192.0.2.1/", 1, 1)          // an address
	add("https://intranet/", 1, 1)           // no public suffix
	add("https://shop.github.io/", 1, 1)     // below a private suffix
	add("https://shop.shop.internal/", 1, 1) // not of the registry
	got := kuma(t, importertest.KumaDatabase(t, "2.5.3", importertest.Rows{
		"monitor": monitors, "monitor_notification": uses, "notification": {ntfy(1, "Phone"), ntfy(2, "Desk")},
		"setting": {{"key": "domainExpiryNotifyDays", "value": "[30,5]"}},
	}))
	mentioned(t, got)
	var domains []string
	for _, check := range got.result.Checks {
		if check.Members.Get("type") == "domain" {
			domains = append(domains, check.Key)
		}
	}
	if strings.Join(domains, " ") != "shop-com-domain paused-org-domain" {
		t.Errorf("the checks of domains are %q", domains)
	}
	want(t, got, map[string]string{
		"checks/shop-com-domain/config":                       `{"alert_days_before":30,"domain":"shop.com"}`,
		"checks/shop-com-domain/enabled":                      `null`,
		"checks/shop-com-domain/rules/expires-phone/channels": `["phone"]`,
		"checks/shop-com-domain/rules/expires-desk/channels":  `["desk"]`,
		"checks/paused-org-domain/enabled":                    `false`,
	})
	if !strings.Contains(got.report, "domainExpiryNotifyDays: 5 days") {
		t.Errorf("the other days are not reported:\n%s", got.report)
	}
}

// TestKumaProxies holds that a check goes the way that its monitor went, or is disabled.
func TestKumaProxies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		proxy               map[string]any
		kind, address, auth string
		disabled            bool
		lost                string
	}{
		"http": {map[string]any{"port": 3128}, "http", `"http://proxy.example:3128"`, "null", false, ""},
		"auth": {
			map[string]any{"host": "2001:4860:4860::8888", "auth": 1, "username": "ada", "password": "SECRET"},
			"keyword", `"http://[2001:4860:4860::8888]:80"`, `{"password":"$CHECK_IT_PASSWORD","username":"ada"}`, false, "",
		},
		"without auth": {map[string]any{"username": "ada", "password": "SECRET"}, "json-query", `"http://proxy.example:80"`, "null", false, ""},
		"inactive":     {map[string]any{"protocol": "socks5", "active": 0}, "http", "null", "null", false, ""},
		"other":        {map[string]any{"protocol": "socks5"}, "http", "null", "null", true, "not of socks5"},
		"bad host":     {map[string]any{"host": "a b"}, "http", "null", "null", true, "is not a host name"},
		"bad port":     {map[string]any{"port": 0}, "http", "null", "null", true, "no port"},
		"bad user":     {map[string]any{"auth": 1, "username": "a:b"}, "http", "null", "null", true, "has a colon"},
		"not there":    {map[string]any{"id": 9}, "http", "null", "null", true, "does not say which proxy"},
		"ws":           {nil, "websocket-upgrade", "null", "null", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := kumaDefaults()
			maps.Copy(row, map[string]any{
				"type": tt.kind, "url": "https://shop.example/", "proxy_id": 1, "json_path": "a", "expected_value": "b", "keyword": "c",
				"domain_expiry_notification": 0,
			})
			if tt.kind == "websocket-upgrade" {
				row["url"], row["accepted_statuscodes_json"] = "wss://shop.example/", `["1000"]`
			}
			proxy := map[string]any{"id": 1, "auth": 0, "protocol": "http", "host": "proxy.example", "port": 80, "active": 1, "default": 0}
			maps.Copy(proxy, tt.proxy)
			got := kuma(t, importertest.KumaDatabase(t, "2.5.3", importertest.Rows{"monitor": {row}, "proxy": {proxy}}))
			mentioned(t, got)
			enabled := "null"
			if tt.disabled {
				enabled = "false"
			}
			want(t, got, map[string]string{
				"checks/it/config/proxy": tt.address, "checks/it/config/proxy_auth": tt.auth, "checks/it/enabled": enabled,
			})
			if tt.lost == "" && got.result.Lossy() || !strings.Contains(unescaped(got.report), tt.lost) {
				t.Errorf("IMPORT.md does not name %q, or something else:\n%s", tt.lost, got.report)
			}
			if strings.Contains(got.report+files(t, got.dir), "SECRET") {
				t.Error("the password of the proxy stands outside of .env")
			}
		})
	}
}
