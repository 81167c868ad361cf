// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil/internal/redact"
)

// Bounds of the parts of a message, in characters. Slack refuses a message with a longer
// block, or with an empty one (docs.slack.dev, header and section block). The whole text has
// at most what Slack recommends, which is also what Mattermost and Rocket.Chat take; Discord
// refuses more than 2,000 at the addresses that take Slack's form
// (discord.com/developers/docs/resources/webhook).
const (
	maxChatHeader  = 150
	maxChatSection = 3000
	maxChatText    = 4000
	maxDiscordText = 2000
)

// slackFormat posts to an incoming webhook of Slack, and of the products that take its form
// (docs.slack.dev, "Sending messages using incoming webhooks" and "Formatting message text").
// What Slack answers to too many messages has the header Retry-After.
func slackFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "slack", title: "Slack", hosts: []string{"hooks.slack.com", "hooks.slack-gov.com"}, takes: []string{"webhook_url"}, required: 1,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			p, err := c.webhook(env, hidden)
			if err != nil {
				return nil, err
			}
			limit := maxChatText
			if strings.HasSuffix(strings.TrimRight(p.url.Path, "/"), slackSuffix) {
				limit = maxDiscordText
			}
			p.call = func(m *Message) (call, error) {
				encoded, err := json.Marshal(c.slackMessage(m, limit))
				return call{header: http.Header{"Content-Type": {contentJSON}}, body: encoded}, err
			}
			return p, nil
		},
	}
}

// slackSuffix ends the addresses of Discord that take Slack's form.
const slackSuffix = "/slack"

// The members of a message that the products agree on.
type (
	chatMessage struct {
		// Text is what notifications and products without blocks show.
		Text   string      `json:"text"`
		Blocks []chatBlock `json:"blocks,omitempty"`
	}
	chatBlock struct {
		Type string   `json:"type"`
		Text chatText `json:"text"`
	}
	chatText struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
)

// slackMessage has blocks for Slack, and all of it as text for the products that show no blocks.
// No block is empty, since Slack refuses a message that has one.
func (c *chatConfig) slackMessage(m *Message, limit int) chatMessage {
	title, body := c.title(m, escapeChat), c.body(m, escapeChat)
	var anchors []string
	for _, l := range m.links("") {
		anchors = append(anchors, "<"+markup.Replace(l.URL)+"|"+l.Name+">")
	}
	anchor := strings.Join(anchors, linkSeparator)
	message := chatMessage{Text: slackText(title, body, anchor, limit)}
	// A header is plain text: nothing in it is markup.
	if plain := c.title(m, defuse); !blank(plain) {
		message.Blocks = append(message.Blocks, chatBlock{"header", chatText{"plain_text", cutCharacters(plain, maxChatHeader)}})
	}
	if !blank(body) {
		message.Blocks = append(message.Blocks, chatBlock{"section", chatText{"mrkdwn", cutMarkup(body, maxChatSection)}})
	}
	if anchor != "" {
		message.Blocks = append(message.Blocks, chatBlock{"section", chatText{"mrkdwn", anchor}})
	}
	return message
}

// slackText joins the parts of a message. The link is kept whole.
func slackText(title, body, anchor string, limit int) string {
	if anchor != "" {
		anchor = "\n" + anchor
		limit -= characters(anchor)
	}
	text := title
	if !blank(body) {
		text += "\n" + body
	}
	return cutMarkup(text, limit) + anchor
}
