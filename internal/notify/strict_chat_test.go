// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

func strictChats() map[form]func(posted) []string {
	return map[form]func(posted) []string{
		"chat/slack":       strictSlack(),
		"chat/discord":     strictDiscord(),
		"chat/teams":       strictTeams(),
		"chat/google_chat": strictGoogle(),
		"chat/mattermost": calling("POST", "", "", jsonBody(1<<20, object("text", map[string]rule{
			"text": text(1, 16383), "username": text(1, 64), "channel": text(1, 64), "icon_url": address, "icon_emoji": text(1, 64),
		}))),
		"chat/telegram": strictTelegram(),
		"chat/matrix": calling("PUT", "/send/m.room.message/22222222-2222-4222-8222-222222222222", "Authorization: Bearer ",
			jsonBody(60<<10, object("msgtype body", map[string]rule{
				"msgtype": oneOf("m.text", "m.notice"), "body": text(1, 65536), "format": oneOf("org.matrix.custom.html"),
				"formatted_body": text(1, 65536), "m.mentions": object("", nil),
				"m.relates_to": object("rel_type event_id", map[string]rule{"rel_type": oneOf("m.thread"), "event_id": text(1, 255)}),
			}))),
		"chat/zulip": calling("POST", "/api/v1/messages", "Authorization: Basic ", formBody(object("type to topic content", map[string]rule{
			"type": oneOf("stream", "channel", "direct"), "to": text(1, 60), "topic": text(1, 60), "content": text(1, 10000),
		}))),
		"chat/rocketchat": calling("POST", "", "", jsonBody(1<<20, object("text", map[string]rule{
			"text": text(1, 5000), "alias": text(1, 64), "emoji": text(1, 64), "avatar": address, "channel": text(1, 64),
			"attachments": list(1, 20, object("", map[string]rule{
				"color": text(4, 7), "title": text(1, 5000), "title_link": address, "text": text(1, 5000),
			})),
		}))),
	}
}

func strictSlack() func(posted) []string {
	plain := object("type text", map[string]rule{"type": oneOf("plain_text"), "text": text(1, 150), "emoji": boolean})
	marked := object("type text", map[string]rule{"type": oneOf("mrkdwn", "plain_text"), "text": text(1, 3000), "verbatim": boolean})
	return calling("POST", "", "", jsonBody(1<<20, object("text", map[string]rule{
		"text": text(1, 4000), "thread_ts": text(1, 32),
		"blocks": list(1, 50, func(at string, value any) []string {
			block, _ := value.(map[string]any)
			if block["type"] == "header" {
				return object("type text", map[string]rule{"type": oneOf("header"), "text": plain})(at, value)
			}
			return object("type text", map[string]rule{"type": oneOf("section"), "text": marked})(at, value)
		}),
	})))
}

func strictDiscord() func(posted) []string {
	embed := object("", map[string]rule{
		"title": text(1, 256), "description": text(1, 4096), "url": address, "timestamp": instant, "color": whole(0, 0xffffff),
	})
	message := object("", map[string]rule{
		"content": text(0, 2000), "username": text(1, 80), "avatar_url": address, "tts": boolean, "embeds": list(1, 10, embed),
		"allowed_mentions": object("", map[string]rule{"parse": list(0, 3, oneOf("everyone", "roles", "users"))}),
	})
	return calling("POST", "", "", jsonBody(1<<20, func(at string, value any) []string {
		wrong := message(at, value)
		given, _ := value.(map[string]any)
		content, _ := given["content"].(string)
		embeds, _ := given["embeds"].([]any)
		if strings.TrimSpace(content) == "" && len(embeds) == 0 {
			wrong = append(wrong, "there is nothing to show")
		}
		total := 0
		for _, embed := range embeds {
			members, _ := embed.(map[string]any)
			for _, name := range []string{"title", "description"} {
				shown, _ := members[name].(string)
				total += len(utf16.Encode([]rune(shown)))
			}
		}
		if total > 6000 {
			wrong = append(wrong, fmt.Sprintf("the embeds have %d characters", total))
		}
		return wrong
	}))
}

func strictTeams() func(posted) []string {
	block := object("type text", map[string]rule{
		"type": oneOf("TextBlock"), "text": text(1, 28<<10), "wrap": boolean, "size": oneOf("Default", "Small", "Medium", "Large", "ExtraLarge"),
		"weight": oneOf("Default", "Lighter", "Bolder"), "color": oneOf("Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"),
	})
	card := object("type version body", map[string]rule{
		"type": oneOf("AdaptiveCard"), "version": oneOf("1.0", "1.2", "1.4"), "$schema": address, "body": list(1, 50, block),
		"actions": list(1, 6, object("type url", map[string]rule{"type": oneOf("Action.OpenUrl"), "title": text(1, 200), "url": address})),
	})
	return calling("POST", "", "", jsonBody(28_000, object("type attachments", map[string]rule{
		"type": oneOf("message"),
		"attachments": list(1, 10, object("contentType content", map[string]rule{
			"contentType": oneOf("application/vnd.microsoft.card.adaptive"), "contentUrl": null, "content": card,
		})),
	})))
}

func strictGoogle() func(posted) []string {
	return calling("POST", "/messages", "", jsonBody(32_000, object("text", map[string]rule{
		"text":   text(1, 4096),
		"thread": object("", map[string]rule{"threadKey": text(1, 4000)}),
	})))
}

func strictTelegram() func(posted) []string {
	message := object("chat_id text", map[string]rule{
		"chat_id": text(1, 64), "message_thread_id": whole(1, 1<<31), "text": text(1, 4096), "disable_notification": boolean,
		"entities": list(1, 100, object("type offset length", map[string]rule{
			"type": oneOf("bold"), "offset": whole(0, 4096), "length": whole(1, 4096),
		})),
		"link_preview_options": object("", map[string]rule{"is_disabled": boolean}),
	})
	return calling("POST", "/sendMessage", "", jsonBody(1<<20, func(at string, value any) []string {
		wrong := message(at, value)
		given, _ := value.(map[string]any)
		text, _ := given["text"].(string)
		length := float64(len(utf16.Encode([]rune(text))))
		entities, _ := given["entities"].([]any)
		for _, one := range entities {
			entity, _ := one.(map[string]any)
			offset, _ := entity["offset"].(float64)
			if n, _ := entity["length"].(float64); offset+n > length {
				wrong = append(wrong, "an entity ends behind the text")
			}
		}
		return wrong
	}))
}
