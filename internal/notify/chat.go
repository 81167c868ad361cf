// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// Bounds of the parts of a message, in characters. Slack refuses a message with a longer
// block, or with an empty one (docs.slack.dev, header and section block). The whole text has
// at most what Slack recommends, which is also what Mattermost and Rocket.Chat take; Discord
// refuses more than 2,000 (discord.com/developers/docs/resources/webhook).
const (
	maxChatHeader  = 150
	maxChatSection = 3000
	maxChatText    = 4000
	maxDiscordText = 2000
)

var _ = register(newChat)

// newChat makes the channel type that posts to an incoming webhook of Slack or of a
// product that takes the same form.
func newChat(env *environment) Notifier { return chatType{env} }

type chatType struct{ *environment }

// chatConfig is the config of a chat channel (spec section 2).
type chatConfig struct {
	WebhookURL string `json:"webhook_url" secret:"address" place:"url" minLength:"1" maxLength:"2048" format:"uri" doc:"Incoming webhook of the chat product. It is a secret: answers show its scheme, host and port, as https://chat.example.com/***, and that or *** keeps it." example:"https://chat.example.com/hooks/T000/B000/XXXX"`
	Wording
}

func (chatType) Type() vigil.ChannelType { return vigil.ChannelChat }
func (chatType) Documents() any          { return chatConfig{} }

// Policy: a late message is of little use, so there are few attempts.
func (chatType) Policy() Policy {
	return Policy{MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true}
}

// Parse reads the config.
func (t chatType) Parse(given json.RawMessage) (Sender, error) {
	c := &chat{environment: t.environment}
	hidden, err := t.read(t.Type(), given, &c.config)
	if err != nil {
		return nil, err
	}
	if c.url, err = t.parseURL("config.webhook_url", c.config.WebhookURL); err != nil {
		return nil, err
	}
	// The path is all that a caller needs to post there.
	c.hidden = hidden.With(pathTexts(c.url)...)
	return c, c.config.check()
}

type chat struct {
	*environment

	config chatConfig
	url    *url.URL
	hidden *redact.Redactor
}

func (c *chat) Target() string { return c.url.Host }

// The members of a message that products agree on.
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

// Send posts the message. Values cannot make a mention or a link; the
// words of a template can.
func (c *chat) Send(ctx context.Context, m Message) Outcome {
	message := c.message(&m)
	encoded, err := json.Marshal(message)
	if err != nil {
		return Unusable(err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return c.send(ctx, request{method: http.MethodPost, url: c.url, header: header, body: encoded, hidden: c.hidden})
}

// message has blocks for Slack, and all of it as text for the products that show no blocks.
// No block is empty, since Slack refuses a message that has one.
func (c *chat) message(m *Message) chatMessage {
	title, body, link := c.config.title(m, escapeChat), c.config.body(m, escapeChat), ""
	if to := m.Variables["incident_url"]; to != "" && visible(to) {
		link = "<" + markup.Replace(to) + "|" + linkName(m) + ">"
	}
	message := chatMessage{Text: c.text(title, body, link)}
	// A header is plain text: nothing in it is markup.
	if plain := c.config.title(m, defuse); !blank(plain) {
		message.Blocks = append(message.Blocks, chatBlock{"header", chatText{"plain_text", cutCharacters(plain, maxChatHeader)}})
	}
	if !blank(body) {
		message.Blocks = append(message.Blocks, chatBlock{"section", chatText{"mrkdwn", cutMarkup(body, maxChatSection)}})
	}
	if link != "" {
		message.Blocks = append(message.Blocks, chatBlock{"section", chatText{"mrkdwn", link}})
	}
	return message
}

// text joins the parts of a message. The link is kept whole.
func (c *chat) text(title, body, link string) string {
	limit := maxChatText
	if strings.HasSuffix(strings.TrimRight(c.url.Path, "/"), "/slack") {
		limit = maxDiscordText // the end of Discord's addresses that take Slack's form
	}
	if link != "" {
		link = "\n" + link
		limit -= characters(link)
	}
	text := title
	if !blank(body) {
		text += "\n" + body
	}
	return cutMarkup(text, limit) + link
}

// linkName is what the link of a message says.
func linkName(m *Message) string {
	switch {
	case m.Type == vigil.EventTest:
		return "Channel"
	case m.Type.Unobserved():
		return "Check"
	}
	return "Incident"
}
