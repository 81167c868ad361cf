// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"
)

// TestGatusProvidersWithAFormat holds which providers become channels, with which config, and what is lost.
func TestGatusProvidersWithAFormat(t *testing.T) {
	t.Parallel()
	for provider, test := range map[string]struct {
		given, kind, want string
		lost              []string
	}{
		"discord": {
			`{webhook-url: "https://discord.example/api/webhooks/1/s3cret", title: t}`, "chat",
			`{"format":"discord","webhook_url":"$CHANNEL_DISCORD_WEBHOOK_URL"}`,
			[]string{"title"},
		},
		"mattermost": {
			`{webhook-url: "https://chat.example/hooks/s3cret"}`, "chat",
			`{"format":"mattermost","webhook_url":"$CHANNEL_MATTERMOST_WEBHOOK_URL"}`, nil,
		},
		"googlechat": {
			`{webhook-url: "https://chat.googleapis.example/s3cret"}`, "chat",
			`{"format":"google_chat","webhook_url":"$CHANNEL_GOOGLECHAT_WEBHOOK_URL"}`, nil,
		},
		"teams": {
			`{webhook-url: "https://teams.example/s3cret"}`, "chat", `{"format":"teams","webhook_url":"$CHANNEL_TEAMS_WEBHOOK_URL"}`, nil,
		},
		"teams-workflows": {
			`{webhook-url: "https://teams.example/s3cret"}`, "chat", `{"format":"teams","webhook_url":"$CHANNEL_TEAMS_WORKFLOWS_WEBHOOK_URL"}`, nil,
		},
		"telegram": {
			`{token: "1:s3cret", id: "-100", topic-id: "7", api-url: "https://telegram.example"}`, "chat",
			`{"chat_id":"-100","format":"telegram","server":"https://telegram.example","thread_id":"7","token":"$CHANNEL_TELEGRAM_TOKEN"}`, nil,
		},
		"matrix": {
			`{access-token: s3cret, internal-room-id: "!a:matrix.example"}`, "chat",
			`{"format":"matrix","room_id":"!a:matrix.example","server":"https://matrix-client.matrix.org","token":"$CHANNEL_MATRIX_TOKEN"}`, nil,
		},
		"zulip": {
			`{bot-email: "bot@zulip.example", bot-api-key: s3cret, domain: zulip.example, channel-id: "12"}`, "chat",
			`{"email":"bot@zulip.example","format":"zulip","server":"https://zulip.example","stream":"12","token":"$CHANNEL_ZULIP_TOKEN"}`, nil,
		},
		"gotify": {
			`{server-url: "https://gotify.example", token: s3cret, priority: 3}`, "push",
			`{"format":"gotify","server":"https://gotify.example","token":"$CHANNEL_GOTIFY_TOKEN"}`,
			[]string{"priority"},
		},
		"pushover": {
			`{application-token: s3cret, user-key: s3cret-user, device: phone, sound: siren}`, "push",
			`{"device":"phone","format":"pushover","token":"$CHANNEL_PUSHOVER_TOKEN","user_key":"$CHANNEL_PUSHOVER_USER_KEY"}`,
			[]string{"sound"},
		},
		"opsgenie": {
			`{api-key: s3cret, tags: [a]}`, "pager", `{"api_key":"$CHANNEL_OPSGENIE_API_KEY","format":"opsgenie"}`, []string{"tags"},
		},
		"jsm": {
			`{api-key: s3cret, priority: P2}`, "pager", `{"api_key":"$CHANNEL_JSM_API_KEY","format":"jsm"}`, []string{"priority"},
		},
		"alertmanager": {
			`{urls: ["https://am.example/", "https://other.example"], default-severity: page}`, "pager",
			`{"format":"alertmanager","url":"https://am.example"}`,
			[]string{"https://other.example", "default-severity"},
		},
		"signal": {
			`{api-url: "https://signal.example", number: "+1", recipients: ["+2"]}`, "webhook",
			`{"payload":"template","payload_template":"{\"message\": \"{{incident_status}}: {{incident_title}} {{error_message}}\", ` +
				`\"number\": \"+1\", \"recipients\": [\"+2\"]}","url":"https://signal.example/v2/send"}`, nil,
		},
		"line": {
			`{channel-access-token: s3cret, user-ids: ["U1"]}`, "webhook",
			`{"headers":{"Authorization":"$CHANNEL_LINE_AUTHORIZATION"},"payload":"template","payload_template":"{\"to\": \"U1\", \"messages\": ` +
				`[{\"type\": \"text\", \"text\": \"{{incident_status}}: {{incident_title}} {{error_message}}\"}]}",` +
				`"url":"https://api.line.me/v2/bot/message/push"}`, nil,
		},
		"twilio": {
			`{sid: AC0, token: s3cret, from: "+1", to: "+2"}`, "webhook",
			`{"content_type":"application/x-www-form-urlencoded","headers":{"Authorization":"$CHANNEL_TWILIO_AUTHORIZATION"},"payload":"template",` +
				`"payload_template":"From=%2B1\u0026To=%2B2\u0026Body={{incident_status}}%3A+{{incident_title}}",` +
				`"url":"https://api.twilio.com/2010-04-01/Accounts/AC0/Messages.json"}`, nil,
		},
		"incident-io": {
			`{url: "https://api.incident.io/v2/alert_events/http/1", auth-token: s3cret}`, "pager",
			`{"api_key":"$CHANNEL_INCIDENT_IO_API_KEY","format":"incident_io","url":"https://api.incident.io/v2/alert_events/http/1"}`, nil,
		},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			got := gatusText(t, "alerting:\n  "+provider+": "+test.given+`
endpoints:
  - {name: shop, url: "https://a.example", conditions: ["[STATUS] == 200"], alerts: [{type: `+provider+`}]}
`)
			mentioned(t, got)
			want(t, got, map[string]string{
				"channels/" + provider + "/type":              `"` + test.kind + `"`,
				"channels/" + provider + "/config":            test.want,
				"checks/shop/rules/" + provider + "/channels": `["` + provider + `"]`,
			})
			for _, lost := range test.lost {
				if !strings.Contains(got.report, lost) {
					t.Errorf("IMPORT.md does not name %q:\n%s", lost, got.report)
				}
			}
			if len(test.lost) == 0 && strings.Contains(got.report, "channel `"+provider+"`") {
				t.Errorf("something of the channel is lost:\n%s", got.report)
			}
			if strings.Contains(files(t, got.dir)+got.report, "s3cret") {
				t.Error("a secret stands outside of .env")
			}
		})
	}
	for provider, given := range map[string]string{
		"telegram": `{token: abc, id: "1"}`, "zulip": `{bot-email: a}`, "opsgenie": `{}`, "alertmanager": `{urls: []}`,
		"signal": `{number: "1"}`, "line": `{user-ids: ["${WHO}"]}`,
		"twilio": `{sid: a, token: b, from: c, to: "${TO}"}`,
	} {
		got := gatusText(t, "alerting:\n  "+provider+": "+given+`
endpoints:
  - {name: shop, url: "https://a.example", conditions: ["[STATUS] == 200"], alerts: [{type: `+provider+`}]}
`)
		if at(t, got.document, "channels") != "null" || !strings.Contains(got.report, "the check notifies no channel") {
			t.Errorf("%s: there is a channel, or no warning:\n%s", provider, got.report)
		}
	}
}
