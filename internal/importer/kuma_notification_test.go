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
			kind:   "chat", want: `{"webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{"https://discord.example/api/webhooks/1/x/slack"},
		},
		"DiscordThread": {
			config: object{
				"type": "discord", "discordWebhookUrl": "https://discord.example/api/webhooks/1/x", "discordChannelType": "postToThread",
				"threadId": "77", "discordPrefixMessage": "@here",
			},
			kind: "chat", want: `{"webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, lost: []string{"discordPrefixMessage"},
			env: []string{"https://discord.example/api/webhooks/1/x/slack?thread_id=77"},
		},
		"DiscordForum": {
			config: object{"type": "discord", "discordWebhookUrl": hook, "discordChannelType": "createNewForumPost", "postName": "p"},
			lost:   []string{"does not create a post of a forum"},
		},
		"Mattermost": {
			config: object{"type": "mattermost", "mattermostWebhookUrl": hook, "mattermostchannel": "#ops"},
			kind:   "chat", want: `{"webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{hook}, lost: []string{"mattermostchannel"},
		},
		"RocketChat": {
			config: object{"type": "rocket.chat", "rocketwebhookURL": hook, "rocketiconemo": ":x:"},
			kind:   "chat", want: `{"webhook_url":"$CHANNEL_N_WEBHOOK_URL"}`, env: []string{hook}, lost: []string{"rocketiconemo"},
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
			kind: "webhook", want: `{"headers":{"X-Team":"shop","X-Token":"$CHANNEL_N_X_TOKEN"},"url":"https://hooks.example/x"}`,
			env: []string{"s3cret"}, lost: []string{"webhookCustomBody", "httpMethod", "webhookContentType", "header Host"},
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
		"Telegram":           {config: object{"type": "telegram", "telegramBotToken": "s3cret"}, lost: []string{"type telegram"}},
		"Teams":              {config: object{"type": "teams", "webhookUrl": hook}, lost: []string{"type teams"}},
		"NoType":             {config: object{}, lost: []string{"type none"}},
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
