// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"strings"

	"github.com/vigil-monitor/vigil/internal/redact"
)

// maxGoogleText bounds the text of a message, in characters. A message of text and cards has at most
// 32,000 bytes (developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create), which
// 4,096 characters of four bytes are below; a longer text is hardly read in a chat. What is over the
// quota of a space is answered with 429 and no time to wait (developers.google.com/workspace/chat/limits).
const maxGoogleText = 4096

// googleFormat posts to an incoming webhook of a space of Google Chat
// (developers.google.com/workspace/chat: "Build a Google Chat app as a webhook", "Format
// messages"). <users/all> mentions everybody and <address|text> is a link; nothing escapes them,
// so a space without width stands behind each < of a value. The messages of an incident are in one
// thread, by its key.
func googleFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "google_chat", title: "Google Chat", hosts: []string{"chat.googleapis.com"}, takes: []string{"webhook_url"}, required: 1,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			p, err := c.webhook(env, hidden)
			if err != nil {
				return nil, err
			}
			query := p.url.Query()
			query.Set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD")
			p.url.RawQuery = query.Encode()
			p.reference = textAt("name")
			p.call = func(m *Message) (call, error) { return asJSON(c.googleMessage(m)) }
			return p, nil
		},
	}
}

// The members of a message of Google Chat.
type (
	googleMessage struct {
		Text   string       `json:"text"`
		Thread googleThread `json:"thread"`
	}
	googleThread struct {
		ThreadKey string `json:"threadKey"`
	}
)

func (c *chatConfig) googleMessage(m *Message) googleMessage {
	title, body, end := c.title(m, escapeGoogle), c.body(m, escapeGoogle), ""
	for _, l := range m.links("") {
		if !strings.ContainsAny(l.URL, "<>|") {
			end += "\n<" + l.URL + "|" + l.Name + ">"
		}
	}
	if c.TitleTemplate == "" && !strings.ContainsAny(title, "*\n") && !blank(title) {
		title = "*" + title + "*"
	}
	text := joinLines(title, body)
	if blank(text) {
		text = linkName(m)
	}
	return googleMessage{
		Text:   cutMarkup(text, maxGoogleText-characters(end)) + end,
		Thread: googleThread{ThreadKey: m.key()},
	}
}

// escapeGoogle keeps a value from mentioning people and from being a link.
func escapeGoogle(text string) string { return strings.ReplaceAll(defuse(text), "<", "<\u200b") }
