// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"strings"

	"github.com/vigil-monitor/vigil/internal/redact"
)

// Bounds of a card, in bytes. Posting a card in a workflow takes about 28 KB with all that is around the
// text, and a larger one fails with "Request Entity too large" (learn.microsoft.com/connectors/teams, known
// issues and limitations); the same holds for an incoming webhook, which takes four requests a second
// (learn.microsoft.com, "Create an Incoming Webhook"). A text may double when it is written as JSON.
const (
	maxTeamsTitle = 1 << 10
	maxTeamsBody  = 10 << 10
)

// teamsFormat posts an adaptive card to a workflow of Microsoft Teams, "Post to a channel when a
// webhook request is received" (learn.microsoft.com; adaptivecards.io, version 1.4). A text block
// has Markdown of bold, italic, lists and links; only members of the card that this format does
// not send mention people. Too many messages are answered with Retry-After.
func teamsFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "teams", title: "Microsoft Teams", hosts: []string{".logic.azure.com", ".api.powerplatform.com", ".webhook.office.com"},
		takes: []string{"webhook_url"}, required: 1,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			p, err := c.webhook(env, hidden)
			if err != nil {
				return nil, err
			}
			p.call = func(m *Message) (call, error) { return asJSON(c.teamsMessage(m)) }
			return p, nil
		},
	}
}

// The members of a message with a card.
type (
	teamsMessage struct {
		Type        string            `json:"type"`
		Attachments []teamsAttachment `json:"attachments"`
	}
	teamsAttachment struct {
		ContentType string    `json:"contentType"`
		ContentURL  *string   `json:"contentUrl"`
		Content     teamsCard `json:"content"`
	}
	teamsCard struct {
		Schema  string        `json:"$schema"`
		Type    string        `json:"type"`
		Version string        `json:"version"`
		Body    []teamsBlock  `json:"body"`
		Actions []teamsAction `json:"actions,omitempty"`
	}
	teamsBlock struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Size   string `json:"size,omitempty"`
		Weight string `json:"weight,omitempty"`
		Color  string `json:"color,omitempty"`
		Wrap   bool   `json:"wrap"`
	}
	teamsAction struct {
		Type  string `json:"type"`
		Title string `json:"title"`
		URL   string `json:"url"`
	}
)

func (c *chatConfig) teamsMessage(m *Message) teamsMessage {
	card := teamsCard{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4"}
	title := c.title(m, escapeMarkdown)
	if blank(title) {
		title = linkName(m)
	}
	shade := map[int]string{0x2e7d32: "Good", 0xc62828: "Attention", 0xf9a825: "Warning"}[color(m)]
	card.Body = append(card.Body, teamsBlock{
		Type: "TextBlock", Text: cutBytes(title, maxTeamsTitle), Size: "Large", Weight: "Bolder", Color: shade, Wrap: true,
	})
	if body := c.body(m, escapeMarkdown); !blank(body) {
		// One line break of Markdown is none.
		text := cutBytes(strings.ReplaceAll(body, "\n", "\n\n"), maxTeamsBody)
		card.Body = append(card.Body, teamsBlock{Type: "TextBlock", Text: text, Wrap: true})
	}
	for _, l := range m.links("") {
		card.Actions = append(card.Actions, teamsAction{Type: "Action.OpenUrl", Title: l.Name, URL: l.URL})
	}
	return teamsMessage{Type: "message", Attachments: []teamsAttachment{{
		ContentType: "application/vnd.microsoft.card.adaptive", Content: card,
	}}}
}
