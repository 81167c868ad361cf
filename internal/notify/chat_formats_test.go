// SPDX-License-Identifier: Apache-2.0

package notify_test

import "github.com/vigil-monitor/vigil"

// hookFixture is that of a format that posts to an incoming webhook.
func hookFixture(format, path string) fixture {
	return fixture{
		kind: vigil.ChannelChat, format: format, address: "config.webhook_url", required: "config.webhook_url",
		config: func(base string) map[string]any { return map[string]any{"webhook_url": base + path + pathToken} },
	}
}

var (
	_ = addFixture(hookFixture("slack", "/services/T0/B0/"))
	_ = addFixture(hookFixture("discord", "/api/webhooks/1/"))
	_ = addFixture(hookFixture("teams", "/workflows/1/triggers/manual/paths/invoke?api-version=2016-06-01&sig="))
	_ = addFixture(hookFixture("google_chat", "/v1/spaces/S/messages?key=k&token="))
	_ = addFixture(hookFixture("mattermost", "/hooks/"))
	_ = addFixture(hookFixture("rocketchat", "/hooks/64a/"))
	_ = addFixture(fixture{
		kind: vigil.ChannelChat, format: "telegram", address: "config.server", required: "config.token",
		config: func(base string) map[string]any {
			return map[string]any{"server": base, "token": "123456:" + pathToken, "chat_id": "-1001234567890"}
		},
	})
	_ = addFixture(fixture{
		kind: vigil.ChannelChat, format: "matrix", address: "config.server", required: "config.server",
		config: func(base string) map[string]any {
			return map[string]any{"server": base, "token": pathToken, "room_id": "!room/1:example.com"}
		},
	})
	_ = addFixture(fixture{
		kind: vigil.ChannelChat, format: "zulip", address: "config.server", required: "config.server",
		config: func(base string) map[string]any {
			return map[string]any{"server": base, "token": secretText, "email": "vigil-bot@zulip.example.com", "stream": "operations"}
		},
	})
)
