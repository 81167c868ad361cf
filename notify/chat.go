package notify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"vigil"
	"vigil/redact"
)

// Bounds of the blocks of a message, in bytes (Slack's, in characters).
const (
	maxChatHeader  = 150
	maxChatSection = 3000
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
		Blocks []chatBlock `json:"blocks"`
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
	body := c.config.body(&m, escapeChat)
	message := chatMessage{
		Text: c.config.title(&m, escapeChat) + "\n" + body,
		Blocks: []chatBlock{
			// A header is plain text: nothing in it is markup.
			{"header", chatText{"plain_text", cut(c.config.title(&m, asIs), maxChatHeader)}},
		},
	}
	if body != "" {
		message.Blocks = append(message.Blocks, chatBlock{"section", chatText{"mrkdwn", cut(body, maxChatSection)}})
	}
	if link := m.Variables["incident_url"]; link != "" && visible(link) {
		message.Blocks = append(message.Blocks, chatBlock{"section", chatText{"mrkdwn", "<" + escapeChat(link) + "|Incident>"}})
	}
	encoded, err := json.Marshal(message)
	if err != nil {
		return Unusable(err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return c.send(ctx, request{method: http.MethodPost, url: c.url, header: header, body: encoded, hidden: c.hidden})
}
