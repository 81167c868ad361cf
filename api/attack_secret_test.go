// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestAttackSecrets sends a kept secret elsewhere: who may write a check or a channel
// must not learn a secret of it by pointing it at a server of their own.
func TestAttackSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	type object = map[string]any
	web := func(url, secret string) object {
		return object{"url": url, "headers": object{"X-Api-Key": secret}, "basic_auth": object{"username": "u", "password": secret}}
	}
	webMembers := "config.basic_auth.password config.headers.X-Api-Key"
	step := func(name, url, secret string) object {
		return object{"name": name, "type": "https", "config": object{"url": url, "headers": object{"Authorization": secret}}}
	}
	mail := func(host string, port int, security, secret string) object {
		return object{"smtp": object{"host": host, "port": port, "security": security, "username": "u", "password": secret}}
	}
	for _, tt := range []struct {
		name, kind    string
		channel       bool
		stored, moved object
		members       string // that the answer names
	}{
		{"a check to another host", "https", false, web("https://a.example/", "s3cr3t"), web("https://evil.example/", "***"), webMembers},
		{"a check to another port", "https", false, web("https://a.example/", "s3cr3t"), web("https://a.example:444/", "***"), webMembers},
		{"a check to plain HTTP", "http", false, web("https://a.example/", "s3cr3t"), web("http://a.example/", "***"), webMembers},
		{
			"a check with a key in its query to another host", "http", false,
			object{"url": "https://a.example/?key=s3cr3t"},
			object{"url": "https://evil.example/?key=***"},
			"config.url",
		},
		{
			"a check with a secret body to another host", "http", false,
			object{"url": "https://a.example/", "method": "POST", "body": "s3cr3t", "body_secret": true},
			object{"url": "https://evil.example/", "method": "POST", "body": "***", "body_secret": true},
			"config.body",
		},
		{
			"a secret body to be shown", "http", false,
			object{"url": "https://a.example/", "method": "POST", "body": "s3cr3t", "body_secret": true},
			object{"url": "https://a.example/", "method": "POST", "body": "***"},
			"config.body",
		},
		{
			"a throughput check to another host", "throughput", false,
			object{"url": "https://a.example/?key=s3cr3t"},
			object{"url": "https://evil.example/?key=***"},
			"config.url",
		},
		{
			"a chat to another host", "chat", true,
			object{"webhook_url": "https://a.example/s3cr3t"},
			object{"webhook_url": "https://evil.example/***"},
			"config.webhook_url",
		},
		{
			"a step to another host", "multistep", false,
			object{"steps": []object{step("one", "https://a.example/", "s3cr3t")}},
			object{"steps": []object{step("one", "https://evil.example/", "***")}},
			"config.steps.0.config.headers.Authorization",
		},
		{
			"a step in the place of another", "multistep", false,
			object{"steps": []object{step("one", "https://a.example/", "s3cr3t"), step("two", "https://b.example/", "other-s3cr3t")}},
			object{"steps": []object{step("two", "https://a.example/", "***")}},
			"config.steps.0.config.headers.Authorization",
		},
		{
			"a mail server to another host", "smtp-imap", false, mail("m.example", 587, "starttls", "s3cr3t"),
			mail("evil.example", 587, "starttls", "***"), "config.smtp.password",
		},
		{
			"a mail server to another port", "smtp-imap", false, mail("m.example", 587, "starttls", "s3cr3t"),
			mail("m.example", 2525, "starttls", "***"), "config.smtp.password",
		},
		{
			"a webhook to another host", "webhook", true,
			object{"url": "https://a.example/", "secret": "s3cr3t", "headers": object{"X-Token": "s3cr3t"}},
			object{"url": "https://evil.example/", "secret": "***", "headers": object{"X-Token": "***"}},
			"config.headers.X-Token config.secret",
		},
		{
			"a pager to another host", "pager", true,
			object{"routing_key": "s3cr3t"},
			object{"routing_key": "***", "url": "https://evil.example/v2/enqueue"},
			"config.routing_key",
		},
		{
			"push to another server", "push", true,
			object{"topic": "t", "username": "u", "password": "s3cr3t"},
			object{"topic": "t", "username": "u", "password": "***", "server": "https://evil.example"},
			"config.password",
		},
		{
			"a token to another product", "push", true,
			object{"format": "pushover", "token": "s3cr3t", "user_key": "s3cr3t"},
			object{"format": "gotify", "token": "***"},
			"config.token",
		},
		{
			"a bot's token to another server", "chat", true,
			object{"format": "telegram", "token": "1:s3cr3t", "chat_id": "1"},
			object{"format": "telegram", "token": "***", "chat_id": "1", "server": "https://evil.example"},
			"config.token",
		},
		{
			"a key to the default of another product", "pager", true,
			object{"format": "alertmanager", "url": "https://a.example", "api_key": "s3cr3t"},
			object{"format": "opsgenie", "api_key": "***"},
			"config.api_key",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at := "/v1/checks/"
			var made object
			if tt.channel {
				made, at = a.channel(t, with("type", tt.kind), with("config", tt.stored)), "/v1/notification-channels/"
			} else {
				made = a.check(t, with("type", tt.kind), with("config", tt.stored))
			}
			path := at + text(made, "id")
			if strings.Contains(encoded(t, made), "s3cr3t") {
				t.Fatalf("the secret is shown: %v", made)
			}
			r := a.want(t, http.StatusBadRequest, http.MethodPut, path, object{"config": tt.moved})
			named, _ := r.detail("members").([]any)
			var members []string
			for _, member := range named {
				members = append(members, member.(string))
			}
			if got := strings.Join(members, " "); got != tt.members || strings.Contains(string(r.raw), "s3cr3t") {
				t.Errorf("it names %q, want %q: %s", got, tt.members, r.raw)
			}
			if shown := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); encoded(t, shown["config"]) != encoded(t, made["config"]) {
				t.Errorf("stored: %v", shown["config"])
			}
			a.want(t, http.StatusOK, http.MethodPut, path, object{"config": made["config"]})
		})
	}
}
