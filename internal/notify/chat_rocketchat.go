// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"

	"github.com/vigil-monitor/vigil/internal/redact"
)

// maxRocketText bounds a text, in characters: a server refuses more than 5,000, unless it is set to
// another number (docs.rocket.chat, Message_MaxAllowedSize).
const maxRocketText = 5000

// rocketFormat posts to an incoming webhook of Rocket.Chat (docs.rocket.chat, "Integrations";
// developer.rocket.chat, "Post Message"). Text is Markdown, and names after @ mention people.
func rocketFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "rocketchat", title: "Rocket.Chat", takes: []string{"webhook_url"}, required: 1,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			p, err := c.webhook(env, hidden)
			if err != nil {
				return nil, err
			}
			p.call = func(m *Message) (call, error) { return asJSON(c.rocketMessage(m)) }
			return p, nil
		},
	}
}

// The members of a message of Rocket.Chat.
type (
	rocketMessage struct {
		Text        string             `json:"text"`
		Attachments []rocketAttachment `json:"attachments,omitempty"`
	}
	rocketAttachment struct {
		Color     string `json:"color"`
		Title     string `json:"title,omitempty"`
		TitleLink string `json:"title_link,omitempty"`
		Text      string `json:"text,omitempty"`
	}
)

// rocketMessage has the title as text, and the body beside a line in the color of the severity.
func (c *chatConfig) rocketMessage(m *Message) rocketMessage {
	message := rocketMessage{Text: cutMarkdown(c.title(m, escapeMarkdown), maxRocketText)}
	if blank(message.Text) {
		message.Text = linkName(m)
	}
	attachment := rocketAttachment{Color: fmt.Sprintf("#%06x", color(m))}
	if body := c.body(m, escapeMarkdown); !blank(body) {
		attachment.Text = cutMarkdown(body, maxRocketText)
	}
	if to := m.acknowledge(""); to != "" {
		end := "[Acknowledge](" + to + ")"
		attachment.Text = joinLines(end, "")
		if body := c.body(m, escapeMarkdown); !blank(body) {
			attachment.Text = cutMarkdown(body, maxRocketText-characters(end)-1) + "\n" + end
		}
	}
	if to := link(m); to != "" {
		attachment.Title, attachment.TitleLink = linkName(m), to
	}
	if attachment.Text != "" || attachment.Title != "" {
		message.Attachments = append(message.Attachments, attachment)
	}
	return message
}
