// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// defaultTelegram is the public server of Telegram's bots.
const defaultTelegram = "https://api.telegram.org"

// maxTelegramText bounds a text, in characters (core.telegram.org/bots/api, sendMessage: 1 to 4,096).
const maxTelegramText = 4096

// telegramFormat sends messages of a bot (core.telegram.org/bots/api, sendMessage and
// editMessageText). The text is plain, so nothing of it has to be escaped; the title is bold by an
// entity, whose length counts units of UTF-16. What Telegram answers to too many messages has
// parameters.retry_after, in seconds. The token is a part of the address.
func telegramFormat() format[chatConfig] {
	return format[chatConfig]{
		name:     "telegram",
		title:    "Telegram",
		hosts:    []string{"api.telegram.org"},
		takes:    []string{"token", "chat_id", "thread_id", "server"},
		required: 2,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			id, token, found := strings.Cut(c.Token, ":")
			if !found || strings.Trim(id, digits) != "" || id == "" || token == "" || !visible(token) || strings.ContainsAny(token, "/?#%") {
				return nil, vigil.Invalid("config.token", "must be a number, a colon and the rest of the token that BotFather gave")
			}
			if name, named := strings.CutPrefix(c.ChatID, "@"); !named && strings.Trim(strings.TrimPrefix(c.ChatID, "-"), digits) != "" ||
				named && (name == "" || !visible(name)) {
				return nil, vigil.Invalid("config.chat_id", "must be a number, or @ and the name of a public channel")
			}
			thread := 0
			if c.ThreadID != "" {
				var err error
				if thread, err = strconv.Atoi(c.ThreadID); err != nil || thread < 1 {
					return nil, vigil.Invalid("config.thread_id", "must be made of digits")
				}
			}
			p, err := env.at("config.server", cmp.Or(c.Server, defaultTelegram), hidden.With(token), "bot"+c.Token, "sendMessage")
			if err != nil {
				return nil, err
			}
			p.wait, p.reference = waitAt(time.Second, "parameters", "retry_after"), textAt("result", "message_id")
			p.call = func(m *Message) (call, error) {
				message := c.telegramMessage(m, thread)
				made, err := asJSON(message)
				if message.MessageID != 0 {
					made.url = p.url.JoinPath("..", "editMessageText")
				}
				return made, err
			}
			return p, nil
		},
	}
}

// The members of a message of Telegram.
type (
	telegramMessage struct {
		ChatID             string           `json:"chat_id"`
		MessageThreadID    int              `json:"message_thread_id,omitempty"`
		MessageID          int              `json:"message_id,omitempty"` // of the message that is edited
		Text               string           `json:"text"`
		Entities           []telegramEntity `json:"entities,omitempty"`
		LinkPreviewOptions telegramPreview  `json:"link_preview_options"`
	}
	telegramEntity struct {
		Type   string `json:"type"`
		Offset int    `json:"offset"`
		Length int    `json:"length"`
	}
	telegramPreview struct {
		IsDisabled bool `json:"is_disabled"`
	}
)

func (c *chatConfig) telegramMessage(m *Message, thread int) telegramMessage {
	message := telegramMessage{ChatID: c.ChatID, MessageThreadID: thread, LinkPreviewOptions: telegramPreview{IsDisabled: true}}
	if edited, err := strconv.Atoi(m.Previous); err == nil && edited > 0 {
		message.MessageID, message.MessageThreadID = edited, 0
	}
	title, end := strings.TrimSpace(c.title(m, defuse)), ""
	if blank(title) {
		title = linkName(m)
	}
	for _, l := range m.links("") {
		end += "\n" + l.Name + ": " + l.URL
	}
	if m := characters(title); m > 0 {
		message.Entities = []telegramEntity{{Type: "bold", Length: m}}
	}
	message.Text = cutCharacters(joinLines(title, c.body(m, defuse)), maxTelegramText-characters(end)) + end
	return message
}
