// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"
)

// notification imports one notification with a monitor that uses it.
func notification(tb testing.TB, config map[string]any, columns map[string]any) imported {
	tb.Helper()
	row := map[string]any{"id": 1, "name": "N", "active": 1, "config": asJSON(tb, config)}
	for name, value := range columns {
		row[name] = value
	}
	return kuma(tb, importertest.KumaDatabase(tb, "2.5.3", importertest.Rows{
		"monitor": {{
			"id": 1, "name": "It", "type": "http", "url": "https://shop.example/", "interval": 60, "retry_interval": 60, "timeout": 10,
			"expiry_notification": 0,
		}},
		"notification":         {row},
		"monitor_notification": {{"monitor_id": 1, "notification_id": 1}},
	}))
}

func TestKumaNotifications(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	const hook = "https://hooks.example/a/b"
	for name, test := range map[string]struct {
		config    object
		kind      string // of the channel; empty: there is none
		want      string // config
		notifyOn  string // empty: both
		env, lost []string
	}{
		"Slack": {
			config: object{"type": "slack", "slackwebhookURL": hook, "slackusername": "bot", "slackrichmessage": true},
			kind:   "chat", want: `{"webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{hook}, lost: []string{"slackusername"},
		},
		"SlackWithoutAddress": {config: object{"type": "slack"}, lost: []string{"slackwebhookURL is empty"}},
		"SlackTemplate": {
			config: object{"type": "slack", "slackwebhookURL": hook, "slackUseTemplate": true, "slackTemplate": "{{ name }}"},
			kind:   "chat", want: `{"webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, lost: []string{"slackTemplate", "slackUseTemplate"},
		},
		"Discord": {
			config: object{"type": "discord", "discordWebhookUrl": "https://discord.example/api/webhooks/1/x", "discordChannelType": "channel"},
			kind:   "chat", want: `{"format":"discord","webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`,
			env: []string{"https://discord.example/api/webhooks/1/x"},
		},
		"DiscordThread": {
			config: object{
				"type": "discord", "discordWebhookUrl": "https://discord.example/api/webhooks/1/x", "discordChannelType": "postToThread",
				"threadId": "77", "discordPrefixMessage": "@here",
			},
			kind: "chat", want: `{"format":"discord","thread_id":"77","webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`,
			lost: []string{"discordPrefixMessage"}, env: []string{"https://discord.example/api/webhooks/1/x"},
		},
		"DiscordForum": {
			config: object{"type": "discord", "discordWebhookUrl": hook, "discordChannelType": "createNewForumPost", "postName": "p"},
			lost:   []string{"does not create a post of a forum"},
		},
		"Mattermost": {
			config: object{"type": "mattermost", "mattermostWebhookUrl": hook, "mattermostchannel": "#ops"},
			kind:   "chat", want: `{"format":"mattermost","webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{hook},
			lost: []string{"mattermostchannel"},
		},
		"RocketChat": {
			config: object{"type": "rocket.chat", "rocketwebhookURL": hook, "rocketiconemo": ":x:"},
			kind:   "chat", want: `{"format":"rocketchat","webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{hook},
			lost: []string{"rocketiconemo"},
		},
		"Ntfy": {
			config: object{
				"type": "ntfy", "ntfytopic": "shop", "ntfyserverurl": "https://ntfy.example", "ntfyAuthenticationMethod": "usernamePassword",
				"ntfyusername": "ada", "ntfypassword": "s3cret", "ntfyPriority": 5,
			},
			kind: "push", want: `{"password":"$CHANNEL_N_PASSWORD","server":"https://ntfy.example","topic":"shop","username":"ada"}`,
			env: []string{"s3cret"}, lost: []string{"ntfyPriority"},
		},
		"NtfyWithToken": {
			config: object{"type": "ntfy", "ntfytopic": "shop", "ntfyAuthenticationMethod": "accessToken", "ntfyaccesstoken": "tk_s3cret"},
			kind:   "push", want: `{"password":"$CHANNEL_N_PASSWORD","topic":"shop"}`, env: []string{"tk_s3cret"},
		},
		"NtfyWithoutTopic": {config: object{"type": "ntfy", "ntfytopic": "a/b"}, lost: []string{"ntfytopic is not"}},
		"PagerDuty": {
			config: object{
				"type": "PagerDuty", "pagerdutyIntegrationKey": "s3cret", "pagerdutyIntegrationUrl": "https://events.pagerduty.com/v2/enqueue",
				"pagerdutyAutoResolve": "resolve", "pagerdutyPriority": "warning",
			},
			kind: "pager", want: `{"routing_key":"$CHANNEL_N_ROUTING_KEY"}`, env: []string{"s3cret"}, lost: []string{"pagerdutyPriority"},
		},
		"PagerDutyWithoutResolve": {
			config: object{"type": "PagerDuty", "pagerdutyIntegrationKey": "s3cret", "pagerdutyAutoResolve": "0"},
			kind:   "pager", want: `{"routing_key":"$CHANNEL_N_ROUTING_KEY"}`, notifyOn: "unhealthy",
		},
		"PagerDutyAcknowledges": {
			config: object{
				"type": "PagerDuty", "pagerdutyIntegrationKey": "s3cret", "pagerdutyIntegrationUrl": "https://events.eu.pagerduty.com/v2/enqueue",
				"pagerdutyAutoResolve": "acknowledge",
			},
			kind: "pager", want: `{"routing_key":"$CHANNEL_N_ROUTING_KEY","url":"https://events.eu.pagerduty.com/v2/enqueue"}`,
			lost: []string{"pagerdutyAutoResolve"},
		},
		"Webhook": {
			config: object{
				"type": "webhook", "webhookURL": "https://hooks.example/x", "webhookContentType": "custom", "webhookCustomBody": "{}",
				"webhookAdditionalHeaders": `{"X-Token": "s3cret", "X-Team": "shop", "Host": "a"}`, "httpMethod": "get",
			},
			kind: "webhook", want: `{"headers":{"X-Team":"shop","X-Token":"$CHANNEL_N_X_TOKEN"},"payload":"template","payload_template":"{}",` +
				`"url":"https://hooks.example/x"}`,
			env: []string{"s3cret"}, lost: []string{"httpMethod", "header Host"},
		},
		"WebhookWithItsOwnEvent": {
			config: object{"type": "webhook", "webhookURL": "https://hooks.example/x", "webhookContentType": "json", "webhookCustomBody": "{}"},
			kind:   "webhook", want: `{"url":"https://hooks.example/x"}`, lost: []string{"webhookContentType"},
		},
		"WebhookWithABody": {
			config: object{
				"type": "webhook", "webhookURL": "https://hooks.example/x", "webhookContentType": "custom",
				"webhookCustomBody": "{\n\"t\": \"{{ msg }} {{monitorJSON['name']}} {{- heartbeatJSON.msg -}} ${A}\"}",
			},
			kind: "webhook", want: `{"payload":"template","payload_template":` +
				`"{\n\"t\": \"{{incident_title}} {{check_name}} {{error_message}} ${A}\"}","url":"https://hooks.example/x"}`,
		},
		"WebhookWithAText": {
			config: object{
				"type": "webhook", "webhookURL": "https://hooks.example/x", "webhookContentType": "custom",
				"webhookCustomBody": "{{ name }}: {{ status }}",
			},
			kind: "webhook", want: `{"content_type":"text/plain","payload":"template","payload_template":"{{check_name}}: {{incident_status}}",` +
				`"url":"https://hooks.example/x"}`,
			lost: []string{"webhookCustomBody: status"},
		},
		"WebhookWithAProgram": {
			config: object{
				"type": "webhook", "webhookURL": "https://hooks.example/x", "webhookContentType": "custom",
				"webhookCustomBody": `{% if heartbeatJSON.status == 1 %}{}{% endif %}`,
			},
			kind: "webhook", want: `{"url":"https://hooks.example/x"}`, lost: []string{"webhookCustomBody"},
		},
		"WebhookWithAnUnknownVariable": {
			config: object{
				"type": "webhook", "webhookURL": "https://hooks.example/x", "webhookContentType": "custom",
				"webhookCustomBody": `{"a": "{{ monitorJSON.description | upcase }}"}`,
			},
			kind: "webhook", want: `{"url":"https://hooks.example/x"}`, lost: []string{"webhookCustomBody"},
		},
		"WebhookWithOtherBytes": {
			config: object{
				"type": "webhook", "webhookURL": "https://hooks.example/x", "webhookContentType": "custom", "webhookCustomBody": `{"a": {{ msg }}}`,
				"webhookAdditionalHeaders": `{"content-type": "application/json"}`,
			},
			kind: "webhook", want: `{"headers":{"content-type":"application/json"},"url":"https://hooks.example/x"}`,
			lost: []string{"webhookCustomBody"},
		},
		"Twilio": {
			config: object{
				"type": "twilio", "twilioAccountSID": "AC0", "twilioAuthToken": "s3cret", "twilioFromNumber": "+1 555", "twilioToNumber": "+1556",
			},
			kind: "webhook", want: `{"content_type":"application/x-www-form-urlencoded","headers":{"Authorization":"$CHANNEL_N_AUTHORIZATION"},` +
				`"payload":"template","payload_template":"From=%2B1+555\u0026To=%2B1556\u0026Body={{incident_status}}%3A+{{incident_title}}",` +
				`"url":"https://api.twilio.com/2010-04-01/Accounts/AC0/Messages.json"}`,
			env: []string{"Basic QUMwOnMzY3JldA=="},
		},
		"TwilioWithAKey": {
			config: object{
				"type": "twilio", "twilioAccountSID": "AC0", "twilioApiKey": "SK1", "twilioAuthToken": "s3cret", "twilioFromNumber": "+1",
				"twilioToNumber": "+2",
			},
			kind: "webhook", want: `{"content_type":"application/x-www-form-urlencoded","headers":{"Authorization":"$CHANNEL_N_AUTHORIZATION"},` +
				`"payload":"template","payload_template":"From=%2B1\u0026To=%2B2\u0026Body={{incident_status}}%3A+{{incident_title}}",` +
				`"url":"https://api.twilio.com/2010-04-01/Accounts/AC0/Messages.json"}`,
			env: []string{"Basic U0sxOnMzY3JldA=="},
		},
		"TwilioWithoutANumber": {
			config: object{"type": "twilio", "twilioAccountSID": "AC0", "twilioAuthToken": "s3cret", "twilioFromNumber": "+1"},
			lost:   []string{"twilioToNumber is empty"},
		},
		"Elks": {
			config: object{
				"type": "Elks", "elksUsername": "u", "elksAuthToken": "s3cret", "elksFromNumber": "Vigil", "elksToNumber": "+46",
			},
			kind: "webhook", want: `{"content_type":"application/x-www-form-urlencoded","headers":{"Authorization":"$CHANNEL_N_AUTHORIZATION"},` +
				`"payload":"template","payload_template":"from=Vigil\u0026to=%2B46\u0026message={{incident_status}}%3A+{{incident_title}}",` +
				`"url":"https://api.46elks.com/a1/sms"}`,
			env: []string{"Basic dTpzM2NyZXQ="},
		},
		"WebhookWithCredentials": {
			config: object{"type": "webhook", "webhookURL": "https://a:s3cret@hooks.example/"}, lost: []string{"user name or a password"},
		},
		"SMTP": {
			config: object{
				"type": "smtp", "smtpHost": "m.example", "smtpPort": 25, "smtpUsername": "u", "smtpPassword": "s3cret",
				"smtpTo": `"Ada, L" <ada@shop.example>; grace@shop.example`, "smtpCC": "joan@shop.example", "smtpBCC": "x@shop.example",
				"customSubject": "down", "smtpDkimDomain": "d",
			},
			kind: "email", want: `{"to":["ada@shop.example","grace@shop.example","joan@shop.example"]}`,
			lost: []string{"smtpHost", "smtpCC", "smtpBCC", "customSubject", "smtpDkimDomain"},
		},
		"SMTPWithoutAddress": {config: object{"type": "smtp", "smtpTo": "ada"}, lost: []string{"smtpTo has no address"}},
		"TelegramToken": {
			config: object{"type": "telegram", "telegramBotToken": "s3cret", "telegramChatID": "1"}, lost: []string{"telegramBotToken is not"},
		},
		"Telegram": {
			config: object{
				"type": "telegram", "telegramBotToken": "1:s3cret", "telegramChatID": "-100", "telegramMessageThreadID": "7",
				"telegramServerUrl": "https://api.telegram.org", "telegramSendSilently": true,
			},
			kind: "chat", want: `{"chat_id":"-100","format":"telegram","thread_id":"7","token":"$CHANNEL_N_TOKEN"}`, env: []string{"1:s3cret"},
			lost: []string{"telegramSendSilently"},
		},
		"Teams": {
			config: object{"type": "teams", "webhookUrl": hook},
			kind:   "chat", want: `{"format":"teams","webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{hook},
		},
		"GoogleChat": {
			config: object{"type": "GoogleChat", "googleChatWebhookURL": hook, "googleChatUseTemplate": true},
			kind:   "chat", want: `{"format":"google_chat","webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{hook},
			lost: []string{"googleChatUseTemplate"},
		},
		"Matrix": {
			config: object{
				"type": "matrix", "homeserverUrl": "https://matrix.example", "internalRoomId": "!a:matrix.example", "accessToken": "s3cret",
			},
			kind: "chat", want: `{"format":"matrix","room_id":"!a:matrix.example","server":"https://matrix.example","token":"$CHANNEL_N_TOKEN"}`,
			env: []string{"s3cret"},
		},
		"MatrixAlias": {
			config: object{"type": "matrix", "homeserverUrl": "https://m.example", "internalRoomId": "#a:m.example", "accessToken": "s3cret"},
			lost:   []string{"internalRoomId is not"},
		},
		"Gotify": {
			config: object{"type": "gotify", "gotifyserverurl": "https://gotify.example", "gotifyapplicationToken": "s3cret", "gotifyPriority": 8},
			kind:   "push", want: `{"format":"gotify","server":"https://gotify.example","token":"$CHANNEL_N_TOKEN"}`, env: []string{"s3cret"},
			lost: []string{"gotifyPriority"},
		},
		"Pushover": {
			config: object{
				"type": "pushover", "pushoveruserkey": "s3cret-user", "pushoverapptoken": "s3cret", "pushoverdevice": "phone",
				"pushoversounds": "siren",
			},
			kind: "push", want: `{"device":"phone","format":"pushover","token":"$CHANNEL_N_TOKEN","user_key":"$CHANNEL_N_USER_KEY"}`,
			env: []string{"s3cret", "s3cret-user"}, lost: []string{"pushoversounds"},
		},
		"Opsgenie": {
			config: object{"type": "Opsgenie", "opsgenieRegion": "eu", "opsgenieApiKey": "s3cret", "opsgeniePriority": 2},
			kind:   "pager", want: `{"api_key":"$CHANNEL_N_API_KEY","format":"opsgenie","url":"https://api.eu.opsgenie.com"}`,
			env: []string{"s3cret"}, lost: []string{"opsgeniePriority"},
		},
		"Splunk": {
			config: object{
				"type": "Splunk", "splunkRestURL": "https://alert.victorops.com/integrations/generic/20131114/alert/s3cret/team",
				"splunkAutoResolve": "0",
			},
			kind: "pager", want: `{"api_key":"$CHANNEL_N_API_KEY","format":"splunk_oncall","routing_key":"$CHANNEL_N_ROUTING_KEY"}`,
			env: []string{"s3cret", "team"}, notifyOn: "unhealthy",
		},
		"SplunkAddress": {
			config: object{"type": "Splunk", "splunkRestURL": "https://alert.victorops.com/x"}, lost: []string{"splunkRestURL does not end"},
		},
		"Signal": {
			config: object{
				"type": "signal", "signalURL": "https://signal.example/v2/send", "signalNumber": "+1555", "signalRecipients": "+1556, +1557",
			},
			kind: "webhook", want: `{"payload":"template","payload_template":"{\"message\": \"{{incident_status}}: {{incident_title}} ` +
				`{{error_message}}\", \"number\": \"+1555\", \"recipients\": [\"+1556\", \"+1557\"]}","url":"https://signal.example/v2/send"}`,
		},
		"SignalWithAVariable": {
			config: object{"type": "signal", "signalURL": hook, "signalNumber": "{{x}}", "signalRecipients": "1"}, lost: []string{"type signal"},
		},
		"LINE": {
			config: object{"type": "line", "lineChannelAccessToken": "s3cret", "lineUserID": "U1"},
			kind:   "webhook", want: `{"headers":{"Authorization":"$CHANNEL_N_AUTHORIZATION"},"payload":"template",` +
				`"payload_template":"{\"to\": \"U1\", \"messages\": [{\"type\": \"text\", ` +
				`\"text\": \"{{incident_status}}: {{incident_title}} {{error_message}}\"}]}","url":"https://api.line.me/v2/bot/message/push"}`,
			env: []string{"Bearer s3cret"},
		},
		"Pumble": {
			config: object{"type": "pumble", "webhookURL": "https://api.pumble.example/x"},
			kind:   "webhook", want: `{"payload":"template","payload_template":"{\"text\": ` +
				`\"{{incident_status}}: {{incident_title}} {{error_message}}\"}","url":"https://api.pumble.example/x"}`,
		},
		"Pushbullet": {
			config: object{"type": "pushbullet", "pushbulletAccessToken": "s3cret"},
			kind:   "webhook", want: `{"headers":{"Access-Token":"$CHANNEL_N_ACCESS_TOKEN"},"payload":"template",` +
				`"payload_template":"{\"type\": \"note\", \"title\": \"{{incident_status}}: {{incident_title}}\", ` +
				`\"body\": \"{{error_message}}\"}","url":"https://api.pushbullet.com/v2/pushes"}`,
			env: []string{"s3cret"},
		},
		"HomeAssistant": {
			config: object{"type": "HomeAssistant", "homeAssistantUrl": "https://ha.example/", "longLivedAccessToken": "s3cret"},
			kind:   "webhook", want: `{"headers":{"Authorization":"$CHANNEL_N_AUTHORIZATION"},"payload":"template",` +
				`"payload_template":"{\"title\": \"{{incident_status}}: {{incident_title}}\", \"message\": \"{{error_message}} \"}",` +
				`"url":"https://ha.example/api/services/notify/notify"}`,
			env: []string{"Bearer s3cret"},
		},
		"JiraServiceManagement": {
			config: object{
				"type": "JiraServiceManagement", "jsmCloudId": "c1", "jsmEmail": "a@b.example", "jsmApiToken": "s3cret", "jsmPriority": 2,
			},
			kind: "webhook", want: `{"headers":{"Authorization":"$CHANNEL_N_AUTHORIZATION"},"payload":"template",` +
				`"payload_template":"{\"message\": \"{{incident_title}}\", \"alias\": \"{{incident_id}}\", ` +
				`\"description\": \"{{error_message}}\", \"source\": \"Vigil\"}","url":"https://api.atlassian.com/jsm/ops/api/c1/v1/alerts"}`,
			env: []string{"Basic YUBiLmV4YW1wbGU6czNjcmV0"}, lost: []string{"jsmApiToken", "jsmPriority"}, notifyOn: "unhealthy",
		},
		"Nostr":  {config: object{"type": "nostr"}, lost: []string{"type nostr"}},
		"WeCom":  {config: object{"type": "WeCom", "weComBotKey": "x"}, lost: []string{"type WeCom"}}, // answers 200 to everything
		"NoType": {config: object{}, lost: []string{"type none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := notification(t, test.config, nil)
			mentioned(t, got)
			if test.kind == "" {
				if at(t, got.document, "channels") != "null" || at(t, got.document, "checks", "it", "rules") != "null" {
					t.Errorf("there is a channel or a rule:\n%s", files(t, got.dir))
				}
				test.lost = append(test.lost, "check `it` | It | alerts to N | the check notifies no channel")
			} else {
				if kind := at(t, got.document, "channels", "n", "type"); kind != `"`+test.kind+`"` {
					t.Errorf("the type is %s, expected %s", kind, test.kind)
				}
				if config := at(t, got.document, "channels", "n", "config"); config != test.want {
					t.Errorf("the config is %s, expected %s", config, test.want)
				}
				if test.notifyOn == "" {
					test.notifyOn = "both"
				}
				want := `{"channels":["n"],"condition":{"failure_threshold":1},"name":"Down: N","notify_on":"` + test.notifyOn + `"}`
				if rule := at(t, got.document, "checks", "it", "rules", "down-n"); rule != want {
					t.Errorf("the rule is %s, expected %s", rule, want)
				}
			}
			for _, lost := range test.lost {
				if !strings.Contains(got.report, lost) {
					t.Errorf("IMPORT.md does not name %q:\n%s", lost, got.report)
				}
			}
			for _, value := range test.env {
				if !strings.Contains(read(t, got.dir, ".env"), "'"+value+"'") {
					t.Errorf(".env lacks %s:\n%s", value, read(t, got.dir, ".env"))
				}
			}
			if strings.Contains(files(t, got.dir)+got.report, "s3cret") {
				t.Error("a secret stands outside of .env")
			}
		})
	}
}

func TestKumaNotificationSwitches(t *testing.T) {
	t.Parallel()
	config := map[string]any{"type": "mattermost", "mattermostWebhookUrl": "https://hooks.example/a"}
	got := notification(t, config, map[string]any{"active": 0, "is_default": 1})
	if enabled := at(t, got.document, "channels", "n", "enabled"); enabled != "false" {
		t.Errorf("enabled is %s, expected false", enabled)
	}
	if !strings.Contains(got.report, "isDefault") {
		t.Errorf("isDefault is not reported:\n%s", got.report)
	}
}
