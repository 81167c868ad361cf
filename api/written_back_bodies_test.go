// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// certified replaces <ca>, <chain> and <key> in a body with a real authority, and a certificate of
// it with its key.
func certified(t *testing.T) func(text string) string {
	t.Helper()
	authority := probetest.NewAuthority(t, nil)
	issued := authority.Issue(t)
	secret, err := x509.MarshalPKCS8PrivateKey(issued.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issued.Certificate[0]})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	quoted := func(text []byte) string {
		out, _ := json.Marshal(string(text))
		return string(out)
	}
	return strings.NewReplacer(`"<ca>"`, quoted(authority.PEM()), `"<chain>"`, quoted(chain), `"<key>"`, quoted(key)).Replace
}

// fullChecks has configs of each type that together set every member, with values that are not the
// default. Members that exclude each other are in different ones.
func fullChecks() map[string][]string {
	const (
		members = `"tls":{"server_name":"b.example.com","ca_certificates":"<ca>","client_certificate":"<chain>","client_key":"<key>"},`
		web     = members + `"method":"POST","headers":{"Authorization":"Bearer s","X-Team":"web"},"body":"{\"a\":1}","body_secret":true,
			"cookies":false,"follow_redirects":false,"ip_version":"4","max_body_bytes":1000,"timeout_seconds":9,"verify_tls":false,
			"expected_status_codes":["2xx",404],"assertions":[
				{"source":"json","property":"$.status","operator":"eq","target":1},{"source":"body","operator":"exists"}]}`
		more = `"basic_auth":{"username":"a","password":"s"},"stream":true,"expected_status_code":201,"allow_http_redirect":true}`
		// Requests through a proxy are those of HTTP/1.1 and 2.
		proxied = `{"url":"https://example.com/","proxy":"http://proxy.example.com:3128","proxy_auth":{"username":"a","password":"s"},
			"oauth2":{"token_url":"https://id.example.com/token","client_id":"a","client_secret":"s","scopes":["a"],"audience":"b",
				"client_authentication":"body"}}`
	)
	urls := []string{`{"url":"https://example.com/?a=1&token=s",` + web, `{"url":"https://example.com/",` + more, proxied}
	security := map[string]string{"smtp": "tls", "imap": "starttls"}
	server := func(kind, more string) string {
		return `{"` + kind + `":{"host":"` + kind + `.example.com","port":1587,"security":"` + security[kind] + `",` +
			`"username":"u","password":"s",` + strings.TrimSuffix(members, ",") + `,"verify_tls":false,` + more + `},`
	}
	return map[string][]string{
		"dns": {`{"host":"example.com","record_type":"MX","resolvers":["1.1.1.1"],"protocol":"tcp","timeout_seconds":9,
			"expected_values":["10 mx.example.com."],"match":"all"}`, `{"host":"example.com","expected_rcode":"NXDOMAIN"}`},
		"domain": {`{"domain":"example.com","alert_days_before":0,"rdap_server":"https://rdap.example.com/","timeout_seconds":9}`},
		"heartbeat": {
			`{"schedule":{"every_seconds":301},"grace_seconds":60,"max_duration_seconds":30,"require_start":true}`,
			`{"schedule":{"cron":"0 3 * * *","timezone":"Europe/Berlin"}}`,
		},
		"grpc": {
			`{"host":"example.com","port":443,"service":"a.B",` + members + `"headers":{"Authorization":"Bearer s"},"verify_tls":false,
			"timeout_seconds":9}`, `{"host":"example.com","port":443,"security":"none"}`,
		},
		"http": {`{"url":"http://example.com/","proxy":"http://proxy.example.com:3128"}`}, "https": urls, "http3": urls[:1],
		"multistep": {`{"steps":[
			{"name":"one","type":"https","config":{"url":"https://example.com/","headers":{"X-Token":"s"}},
				"extract":[{"name":"token","source":"json","property":"$.token"}]},
			{"name":"two","type":"https","config":{"url":"https://example.com/","headers":{"Authorization":"Bearer {{token}}"}}}]}`},
		"ping": {`{"host":"example.com","packet_count":5,"max_packet_loss_percent":12.5,"ip_version":"6","timeout_seconds":9}`},
		"smtp-imap": {
			server("smtp", `"helo_name":"c.example.com","server_name":"b.example.com"`) +
				server("imap", `"mailbox":"Probe","server_name":"b.example.com"`)[1:] +
				`"round_trip":true,"from":"a@example.com","to":"b@example.com","max_delivery_seconds":9,"timeout_seconds":9}`,
		},
		"ssl": {`{"host":"example.com","port":8443,"alert_days_before":0,"server_name":"b.example.com",` + members + `"verify_tls":false,
			"timeout_seconds":9}`},
		"tcp": {`{"host":"example.com","port":5433,"security":"tls","verify_tls":false,` + members + `"send":"PING\n","expect":"PONG",
			"timeout_seconds":9}`},
		"throughput": {`{"url":"https://example.com/","direction":"upload","min_mbps":0.5,"max_bytes":1000000,"max_duration_seconds":5,` +
			members + `"timeout_seconds":9}`},
		"websocket": {`{"url":"wss://example.com/?a=1","headers":{"Authorization":"Bearer s"},"subprotocols":["v1.chat"],"send":"ping",
			"expect":"pong",` + members + `"verify_tls":false,"timeout_seconds":9}`},
	}
}

// fullChannels is the same for channels.
func fullChannels() map[string][]string {
	const templates = `"title_template":"{{severity}}: {{check_name}}","body_template":"{{incident_status}} after {{duration}}"`
	return map[string][]string{
		"chat": {
			`{"webhook_url":"https://chat.example.com/hooks/1","format":"discord","thread_id":"42",` + templates + `}`,
			`{"format":"telegram","server":"https://telegram.example.com","token":"1:a","chat_id":"-1001","thread_id":"42"}`,
			`{"format":"matrix","server":"https://matrix.example.com","token":"s","room_id":"!a:example.com"}`,
			`{"format":"zulip","server":"https://zulip.example.com","token":"s","email":"bot@example.com","stream":"ops","topic":"alerts"}`,
		},
		"email": {`{"to":["ada@example.com","grace@example.com"],` + templates + `}`, `{"email":"ada@example.com"}`},
		"pager": {
			`{"routing_key":"R01","url":"https://events.example.com/v2/enqueue",` + templates + `}`,
			`{"format":"alertmanager","url":"https://alerts.example.com","username":"u","api_key":"s"}`,
		},
		"push": {
			`{"topic":"alerts","server":"https://push.example.com","username":"u","password":"s",` + templates + `}`,
			`{"format":"pushover","server":"https://push.example.com","token":"s","user_key":"u","device":"phone"}`,
		},
		"webhook": {
			`{"url":"https://hooks.example.com/x","method":"PUT","secret":"s","traceparent":true,
			"headers":{"Authorization":"Bearer s"},` + templates + `}`,
			`{"url":"https://hooks.example.com/x","content_type":"application/vnd.example+json","payload":"template",
			"payload_template":"{\"text\":\"{{incident_title}}\"}"}`,
		},
	}
}

// managedAs is a member of resources that a program manages.
func managedAs(key string) string {
	return fmt.Sprintf(`"managed_by":{"tool":"t","project":"p","key":%q}`, key)
}

// fullRules has bodies that create rules with every member of one, in each form of their conditions.
func fullRules(channel string) []string {
	more := `,"name":"x","notification_channel_ids":["` + channel + `"],"labels":{"a":"b"},"enabled":false,"notify_on":"both",
		"notify_if_open":true,"region_policy":"majority","unobserved":"notify",` + managedAs("rule") + `}`
	plain := `,"name":"x","notification_channel_ids":["` + channel + `"]}`
	return []string{
		`{"condition":{"failure_threshold":3}` + more, `{"condition":{"failure_threshold":3}` + plain,
		`{"condition":{"response_time_ms":5,"recovery_threshold":2,"severity":"info"}` + plain,
		`{"condition":{"health_status":"down","ssl_days_remaining":7}` + plain,
		`{"condition":{"status_code":500,"dns_changed":true}` + plain,
		`{"condition":{"burn_rate":{"target_percentage":99.5,"factor":14.4,"window_seconds":3600,"short_window_seconds":300}}` + plain,
		`{"condition":{"type":"response_time","threshold":5,"operator":"gte"}` + plain,
		`{"condition_type":"response_time","threshold":5` + plain,
	}
}

// fullWindows is the same for maintenance windows.
func fullWindows(check string) []string {
	starts := `"starts_at":"` + localTime(1e15) + `","duration_seconds":3600,"name":"x",`
	return []string{
		`{` + starts + `"scope":{"all":true},"rrule":"FREQ=WEEKLY","until":"` + localTime(1e16) + `","timezone":"Europe/Berlin","enabled":false,
			"probing":"pause","uptime":"include",` + managedAs("window") + `}`,
		`{` + starts + `"scope":{"check_ids":["` + check + `"],"labels":["a=b"]}}`,
		`{` + starts + `"cron":"0 22 * * 2","scope":{"labels":["a=b"]},"timezone":"Europe/Berlin"}`,
	}
}

// fullSubscriptions is the same for subscriptions.
func fullSubscriptions(channel, check string) []string {
	named := `{"name":"x","channel_id":"` + channel + `",`
	return []string{
		named + `"events":["incident.*","check.paused"],
			"selector":{"labels":["team=shop"],"check_ids":["` + check + `"],"severity_min":"warning"},
			"enabled":false,` + managedAs(
			"subscription",
		) + `}`,
		named + `"events":["*"],"selector":{"check_ids":[]}}`,
		named + `"events":["channel.failing"]}`,
	}
}

// fullDrillSchedules is the same for schedules of drills.
func fullDrillSchedules(owned map[string]string) []string {
	const rest = `"regions":["eu-central-fra"],"severity":"critical","expect_within_seconds":60,"confirm_pager":true,"enabled":false,
		"recurrence":{"every":"weekly","day":7,"hour":23,"timezone":"Europe/Berlin"}}`
	return []string{
		`{"name":"x","channel_ids":["` + owned["/v1/notification-channels"] + `"],` + rest,
		`{"name":"x","rule_ids":["` + owned["ruleID"] + `"],` + rest,
		`{"name":"x","subscription_ids":["` + owned["/v1/subscriptions"] + `"],` + rest,
	}
}

// fullReportSchedules is the same for schedules of reports.
func fullReportSchedules(owned map[string]string) []string {
	return []string{
		`{"name":"x","channel_ids":["` + owned["/v1/notification-channels"] + `"],"labels":["a=b"],"target_percentage":95.5,"enabled":false,
		"recurrence":{"every":"weekly","day":7,"hour":23,"timezone":"Europe/Berlin"}}`,
	}
}

// fullPages is the same for status pages.
func fullPages(check string) []string {
	return []string{`{"slug":"full","title":"x","enabled":false,"noindex":true,"accent":"#0f5fa8",
		"host":"status.example.com","response_times":true,"subscriptions":true,` + managedAs("page") + `,
		"groups":[{"name":"g","checks":[{"check_id":"` + check + `","name":"n"}]},{"name":"h","checks":[]}]}`}
}
