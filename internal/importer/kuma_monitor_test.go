// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"
)

func TestKumaMonitors(t *testing.T) {
	t.Parallel()
	web := func(more map[string]any) map[string]any {
		row := map[string]any{"type": "http", "url": "https://shop.example/", "timeout": 10}
		for name, value := range more {
			row[name] = value
		}
		return row
	}
	query := func(path, operator, expected string) map[string]any {
		return web(map[string]any{"type": "json-query", "json_path": path, "json_path_operator": operator, "expected_value": expected})
	}
	for name, test := range map[string]struct {
		columns map[string]any
		// config has these members, as JSON; want is empty for a monitor that is missing.
		want map[string]string
		lost string // in IMPORT.md
	}{
		"Http": {
			web(nil),
			map[string]string{"type": `"https"`, "expected_status_codes": `["2xx"]`, "timeout_seconds": `10`, "assertions": `null`},
			"",
		},
		"PlainHTTP": {
			web(map[string]any{"url": "http://shop.example:8080/x?y=1"}),
			map[string]string{"type": `"http"`, "url": `"http://shop.example:8080/x?y=1"`},
			"",
		},
		"Credentials": {
			web(map[string]any{"url": "https://ada:x%20y@shop.example/"}),
			map[string]string{"url": `"https://shop.example/"`, "basic_auth": `{"password":"$CHECK_IT_PASSWORD","username":"ada"}`},
			"",
		},
		"NoAddress":   {web(map[string]any{"url": "https://"}), nil, "is not an address"},
		"OtherScheme": {web(map[string]any{"url": "ftp://shop.example/"}), nil, "does not begin with http"},
		"BadPort":     {web(map[string]any{"url": "http://shop.example:70000/"}), nil, "has a port that is none"},
		"BadHost":     {web(map[string]any{"url": "http://1.2.3/"}), nil, "is not a host name"},
		"Method":      {web(map[string]any{"method": "delete"}), map[string]string{"method": `"DELETE"`}, ""},
		"OtherMethod": {web(map[string]any{"method": "BREW"}), nil, `method "BREW"`},
		"Statuses": {
			web(map[string]any{"accepted_statuscodes_json": `["200-299","300-399","404"]`}),
			map[string]string{"expected_status_codes": `["2xx","3xx",404]`},
			"",
		},
		"FewStatuses": {
			web(map[string]any{"accepted_statuscodes_json": `["200-203"]`}),
			map[string]string{"expected_status_codes": `[200,201,202,203]`},
			"",
		},
		"WideRange": {
			web(map[string]any{"accepted_statuscodes_json": `["200-350"]`}),
			map[string]string{
				"expected_status_codes": `null`,
				"assertions":            `[{"operator":"gt","source":"status","target":199},{"operator":"lt","source":"status","target":351}]`,
			},
			"",
		},
		"ManyRanges": {
			web(map[string]any{"accepted_statuscodes_json": `["200-250","300-350"]`}),
			map[string]string{"expected_status_codes": `["2xx","3xx"]`},
			"too many statuses",
		},
		"EveryStatus": {
			web(map[string]any{"accepted_statuscodes_json": `["100-999"]`}),
			map[string]string{"expected_status_codes": `["1xx","2xx","3xx","4xx","5xx"]`},
			"",
		},
		"WrongStatus": {
			web(map[string]any{"accepted_statuscodes_json": `["ok",204]`}),
			map[string]string{"expected_status_codes": `[204]`},
			"accepted\\_statuscodes: ok",
		},
		"Redirects":     {web(map[string]any{"maxredirects": 0}), map[string]string{"follow_redirects": `false`}, ""},
		"SomeRedirects": {web(map[string]any{"maxredirects": 3}), map[string]string{"follow_redirects": `null`}, "maxredirects: 3"},
		"IPv6":          {web(map[string]any{"ip_family": "ipv6"}), map[string]string{"ip_version": `"6"`}, ""},
		"IgnoreTLS":     {web(map[string]any{"ignore_tls": 1}), map[string]string{"verify_tls": `false`}, ""},
		"Form": {
			web(map[string]any{"method": "POST", "body": "a=1", "http_body_encoding": "form"}),
			map[string]string{"body": `"a=1"`, "headers": `{"Content-Type":"application/x-www-form-urlencoded"}`},
			"",
		},
		"XML": {
			web(map[string]any{"body": "<a/>", "http_body_encoding": "xml"}),
			map[string]string{"headers": `{"Content-Type":"text/xml; charset=utf-8"}`},
			"",
		},
		"OwnContentType": {
			web(map[string]any{"body": "{}", "headers": `{"content-type":"application/ld+json"}`}),
			map[string]string{"headers": `{"content-type":"application/ld+json"}`},
			"",
		},
		"BadHeaders": {web(map[string]any{"headers": `X-A: b`}), map[string]string{"headers": `null`}, "they are not an object in JSON"},
		"OwnHeader": {
			web(map[string]any{"headers": `{"Connection":"close","A B":"c","X":"y"}`}),
			map[string]string{"headers": `{"X":"y"}`},
			"header Connection",
		},
		"Literal": {web(map[string]any{"headers": `{"X":"${HOME}"}`}), map[string]string{"headers": `{"X":"${HOME}"}`}, ""},
		"ColonInUser": {
			web(map[string]any{"auth_method": "basic", "basic_auth_user": "a:b", "basic_auth_pass": "c"}),
			map[string]string{"headers": `{"Authorization":"$CHECK_IT_AUTHORIZATION"}`},
			"",
		},
		"Bearer": {
			web(map[string]any{"auth_method": "bearer", "bearer_token": "t"}),
			map[string]string{"headers": `{"Authorization":"$CHECK_IT_AUTHORIZATION"}`},
			"",
		},
		"Ntlm": {
			web(map[string]any{"auth_method": "ntlm", "basic_auth_user": "a", "auth_domain": "d"}),
			map[string]string{"basic_auth": `null`, "enabled": `false`},
			"auth\\_method: ntlm",
		},
		"Mtls": {
			web(map[string]any{"auth_method": "mtls", "tls_cert": "", "tls_key": "SECRET"}),
			map[string]string{"enabled": `false`},
			"tls\\_cert",
		},
		"HalfOauth2": {
			web(map[string]any{"auth_method": "oauth2-cc", "oauth_client_id": "a"}),
			map[string]string{"enabled": `false`, "oauth2": `null`},
			"auth\\_method: oauth2-cc",
		},
		"Oauth2": {
			web(map[string]any{
				"auth_method": "oauth2-cc", "oauth_client_id": "a", "oauth_client_secret": "confidential", "oauth_scopes": "c d", "oauth_audience": "e",
				"oauth_token_url": "https://id.example/token", "oauth_auth_method": "client_secret_post",
			}),
			map[string]string{"oauth2": `{"audience":"e","client_authentication":"body","client_id":"a",` +
				`"client_secret":"$CHECK_IT_CLIENT_SECRET","scopes":["c","d"],"token_url":"https://id.example/token"}`},
			"",
		},
		"KeepErrors": {web(map[string]any{"save_error_response": 0}), map[string]string{"type": `"https"`}, "save\\_error\\_response: 0"},
		"LongErrors": {
			web(map[string]any{"response_max_length": 5000}), map[string]string{"type": `"https"`}, "response\\_max\\_length: 5000",
		},
		"Proxy":       {web(map[string]any{"proxy_id": 3}), map[string]string{"enabled": `false`}, "proxy\\_id: 3"},
		"Inverted":    {web(map[string]any{"upside_down": 1}), map[string]string{"enabled": `false`}, "upside\\_down: 1"},
		"Resend":      {web(map[string]any{"resend_interval": 5}), map[string]string{"type": `"https"`}, "resend\\_interval: 5"},
		"Certificate": {web(map[string]any{"expiry_notification": 1}), map[string]string{"type": `"https"`}, "--certificates"},
		"LongInterval": {
			web(map[string]any{"interval": 2073600, "timeout": 0}),
			map[string]string{"interval": `"576h"`, "timeout_seconds": `60`},
			"where it is 80 % of the interval",
		},
		"OddTimeout": {web(map[string]any{"interval": 30, "timeout": 24.5}), map[string]string{"timeout_seconds": `25`}, "timeout: 24.5s"},
		"Keyword": {
			web(map[string]any{"type": "keyword", "keyword": "Pay ${now}"}),
			map[string]string{"assertions": `[{"operator":"contains","source":"body","target":"Pay ${now}"}]`},
			"",
		},
		"KeywordOfJSON": { // Kuma searches {"status": "ok"} without the space
			web(map[string]any{"type": "keyword", "keyword": `{"status":"ok"}`}),
			map[string]string{"assertions": `[{"operator":"matches","source":"body","target":"\\{\\s*\"status\"\\s*:\\s*\"ok\"\\s*\\}"}]`},
			"",
		},
		"NotKeywordOfJSON": {
			web(map[string]any{"type": "keyword", "keyword": `"status":"down"`, "invert_keyword": 1}),
			map[string]string{"assertions": `[{"operator":"not_contains","source":"body","target":"\"status\":\"down\""}]`},
			"invert\\_keyword: ",
		},
		"NotKeyword": {
			web(map[string]any{"type": "keyword", "keyword": "down", "invert_keyword": 1}),
			map[string]string{"assertions": `[{"operator":"not_contains","source":"body","target":"down"}]`},
			"",
		},
		"JSONEqual": {
			query("$.a[0].`b-c`", "==", "1"),
			map[string]string{"assertions": `[{"operator":"eq","property":"$.a[0]['b-c']","source":"json","target":"1"}]`},
			"",
		},
		"JSONAtLeast": {
			query("n", ">=", "5"),
			map[string]string{"assertions": `[{"operator":"gt","property":"$.n","source":"json","target":"4.999999999999999"}]`},
			"",
		},
		"JSONAtMost": {
			query("n", "<=", "5"),
			map[string]string{"assertions": `[{"operator":"lt","property":"$.n","source":"json","target":"5.000000000000001"}]`},
			"",
		},
		"JSONAbove": {
			query("n", ">", "5"), map[string]string{"assertions": `[{"operator":"gt","property":"$.n","source":"json","target":"5"}]`}, "",
		},
		"JSONDiffers": {
			query("n", "!=", "x"),
			map[string]string{
				"assertions": `[{"operator":"exists","property":"$.n","source":"json","target":true},` +
					`{"operator":"ne","property":"$.n","source":"json","target":"x"}]`,
			},
			"",
		},
		"JSONContains": {
			query("", "contains", "x"),
			map[string]string{"assertions": `[{"operator":"contains","property":"$","source":"json","target":"x"}]`},
			"",
		},
		"JSONata":      {query("$count(items)", "==", "3"), map[string]string{"assertions": `null`}, "json\\_path: $count(items)"},
		"JSONNoNumber": {query("n", ">", "many"), map[string]string{"assertions": `null`}, "expected\\_value: many"},
		"Port": {
			map[string]any{"type": "port", "hostname": "db.example", "port": 5432},
			map[string]string{"type": `"tcp"`, "config": `{"host":"db.example","port":5432}`},
			"",
		},
		"NoPort":    {map[string]any{"type": "port", "hostname": "db.example"}, nil, "is not a port"},
		"NoHost":    {map[string]any{"type": "port", "port": 1}, nil, "it has no hostname"},
		"URLAsHost": {map[string]any{"type": "port", "hostname": "https://db.example/", "port": 1}, nil, "is not a host name"},
		"TLSAlert": {
			map[string]any{"type": "port", "hostname": "db.example", "port": 1, "expected_tls_alert": "certificate_required"},
			map[string]string{"type": `"tcp"`},
			"expected\\_tls\\_alert",
		},
		"PortWithTLS": {
			map[string]any{"type": "port", "hostname": "db.example", "port": 1, "smtp_security": "secure", "expiry_notification": 1},
			map[string]string{"type": `"tcp"`},
			"smtp\\_security: secure",
		},
		"Ping": {map[string]any{"type": "ping", "hostname": "[2001:db8::1]", "ping_count": 20, "timeout": 10}, nil, "2001:db8::1"},
		"PingName": {
			map[string]any{"type": "ping", "hostname": "r.example", "ping_count": 20, "timeout": 10, "packet_size": 1000},
			map[string]string{"config": `{"host":"r.example","max_packet_loss_percent":99,"packet_count":10,"timeout_seconds":10}`},
			"packet\\_size: 1000",
		},
		"DNS": {
			map[string]any{
				"type": "dns", "hostname": "a.example", "dns_resolve_type": "AAAA", "dns_resolve_server": "1.1.1.1,dns.example", "port": 5353,
			},
			map[string]string{"config": `{"host":"a.example","record_type":"AAAA","resolvers":["1.1.1.1:5353","dns.example:5353"]}`},
			"",
		},
		"DNSConditions": {
			map[string]any{
				"type": "dns", "hostname": "a.example", "dns_resolve_type": "TXT",
				"conditions": `[{"variable":"record","operator":"contains","value":"spf"}]`,
			},
			map[string]string{"expected_values": `null`},
			"conditions:",
		},
		"DNSOfAddress": {map[string]any{"type": "dns", "hostname": "10.0.0.1", "dns_resolve_type": "A"}, nil, "only has PTR records"},
		"DNSPointer": {
			map[string]any{"type": "dns", "hostname": "10.0.0.1", "dns_resolve_type": "PTR"}, map[string]string{"record_type": `"PTR"`}, "",
		},
		"SMTP": {
			map[string]any{"type": "smtp", "hostname": "m.example", "smtp_security": "secure", "port": 465},
			map[string]string{"config": `{"smtp":{"host":"m.example","port":465,"security":"tls"}}`},
			"",
		},
		"SMTPAsOffered": {
			map[string]any{"type": "smtp", "hostname": "m.example"},
			map[string]string{"config": `{"smtp":{"host":"m.example","port":25,"security":"none"}}`},
			"smtp\\_security",
		},
		"Push": {
			map[string]any{"type": "push", "push_token": "SECRET", "interval": 3600},
			map[string]string{"config": `{"grace_seconds":1,"schedule":{"every_seconds":3600}}`, "interval": `null`, "type": `"heartbeat"`},
			"push\\_token | its job has to ping another address",
		},
		"PushRetries": {
			map[string]any{"type": "push", "interval": 60, "maxretries": 3, "retry_interval": 20},
			map[string]string{"config": `{"grace_seconds":60,"schedule":{"every_seconds":60}}`},
			"maxretries: 3 | they are the grace of 1m",
		},
		"PushRetriesOfInterval": {
			map[string]any{"type": "push", "interval": 90, "maxretries": 2, "retry_interval": 0},
			map[string]string{"config": `{"grace_seconds":180,"schedule":{"every_seconds":90}}`},
			"maxretries: 2",
		},
		"PushRetriesForEver": {
			map[string]any{"type": "push", "interval": 1e12, "maxretries": 1e12, "retry_interval": 1e12},
			map[string]string{"config": `{"grace_seconds":2592000,"schedule":{"every_seconds":2592000}}`},
			"they are the grace of 720h",
		},
		"NoType": {map[string]any{"type": nil}, nil, "it has no type"},
		"Docker": {map[string]any{"type": "docker", "docker_container": "shop"}, nil, "type docker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := monitor(t, test.columns)
			mentioned(t, got)
			check := at(t, got.document, "checks", "it")
			if missing := check == "null"; missing != (test.want == nil) {
				t.Fatalf("the check is %s:\n%s", check, got.report)
			}
			for member, want := range test.want {
				value := at(t, got.document, "checks", "it", member)
				if value == "null" {
					value = at(t, got.document, "checks", "it", "config", member)
				}
				if value != want {
					t.Errorf("%s is %s, expected %s", member, value, want)
				}
			}
			if !strings.Contains(got.report, test.lost) {
				t.Errorf("IMPORT.md does not name %q:\n%s", test.lost, got.report)
			}
			if test.lost == "" && got.result.Lossy() {
				t.Errorf("something is lost:\n%s", got.report)
			}
			if strings.Contains(strings.ReplaceAll(got.report, "CLIENT_SECRET", ""), "SECRET") {
				t.Error("a secret is in IMPORT.md")
			}
		})
	}
}

func TestKumaAsTCP(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct {
		columns map[string]any
		config  string // empty: there is no check
	}{
		"mqtt": {map[string]any{"hostname": "mq.example", "port": 8883, "mqtt_topic": "a"}, `{"host":"mq.example","port":8883}`},
		"sqlserver": {
			map[string]any{"database_connection_string": "Server=tcp:db.example,1434;User Id=sa;Password=x"},
			`{"host":"db.example","port":1434}`,
		},
		"postgres": {
			map[string]any{"database_connection_string": "postgres://u:p@db.example/x?sslmode=disable"}, `{"host":"db.example","port":5432}`,
		},
		"mysql": {map[string]any{"database_connection_string": "mysql://u:p@db.example:3307/x"}, `{"host":"db.example","port":3307}`},
		"mongodb": {
			map[string]any{"database_connection_string": "mongodb://a.example:27018,b.example/x"}, `{"host":"a.example","port":27018}`,
		},
		"redis":    {map[string]any{"database_connection_string": "redis://:p@[fd00::1]:6380"}, `{"host":"fd00::1","port":6380}`},
		"oracledb": {map[string]any{"database_connection_string": "db.example:1522/x"}, `{"host":"db.example","port":1522}`},
		"rabbitmq": {
			map[string]any{"rabbitmq_nodes": `["https://r.example:15671","https://s.example"]`}, `{"host":"r.example","port":15671}`,
		},
		"kafka-producer": {map[string]any{"kafka_producer_brokers": `["k.example:9093"]`}, `{"host":"k.example","port":9093}`},
		"grpc-keyword":   {map[string]any{"grpc_url": "g.example:50051"}, `{"host":"g.example","port":50051}`},
		"radius":         {map[string]any{"hostname": "r.example", "port": 1812}, ""}, // over UDP
		"steam":          {map[string]any{"hostname": "s.example", "port": 27015}, ""},
		"docker":         {map[string]any{"docker_container": "x"}, ""},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test.columns["type"] = kind
			got := monitor(t, test.columns, "as-tcp")
			want := test.config
			if want == "" {
				want = "null"
			}
			if config := at(t, got.document, "checks", "it", "config"); config != want {
				t.Errorf("the config is %s, expected %s", config, want)
			}
			if !strings.Contains(got.report, "type "+kind) {
				t.Errorf("IMPORT.md does not name the type:\n%s", got.report)
			}
			without := monitor(t, test.columns)
			kept := at(t, without.document, "checks") != "null" && at(t, without.document, "checks", "it", "enabled") != "false"
			if kept || strings.Contains(without.report, "u:p@") {
				t.Errorf("without the switch:\n%s", without.report)
			}
		})
	}
}
