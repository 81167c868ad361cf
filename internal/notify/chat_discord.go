// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// Bounds of a message of Discord, in characters (discord.com/developers/docs: "Execute Webhook",
// "Embed Limits"). A message with an empty embed, or without anything, is refused as well.
const (
	maxDiscordEmbedTitle = 256
	maxDiscordEmbedBody  = 4096
)

// discordFormat posts to a webhook of Discord. Text is Markdown; names after @ and between < and >
// mention people only as far as allowed_mentions says. What Discord answers to too many messages
// has retry_after, in seconds.
func discordFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "discord", title: "Discord", hosts: []string{"discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com"},
		takes: []string{"webhook_url", "thread_id"}, required: 1,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			p, err := c.webhook(env, hidden)
			if err != nil {
				return nil, err
			}
			if strings.Trim(c.ThreadID, digits) != "" {
				return nil, vigil.Invalid("config.thread_id", "must be made of digits")
			}
			query := p.url.Query()
			query.Set("wait", "true") // the answer says which message it became
			if c.ThreadID != "" {
				query.Set("thread_id", c.ThreadID)
			}
			p.url.RawQuery = query.Encode()
			p.wait, p.reference = waitAt(time.Second, "retry_after"), textAt("id")
			p.call = func(m *Message) (call, error) { return c.discordCall(p.url, m) }
			return p, nil
		},
	}
}

const digits = "0123456789"

// The members of a message of Discord.
type (
	discordMessage struct {
		Content         string          `json:"content"`
		Embeds          []discordEmbed  `json:"embeds,omitempty"`
		AllowedMentions discordMentions `json:"allowed_mentions"`
	}
	discordEmbed struct {
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		URL         string `json:"url,omitempty"`
		Color       int    `json:"color"`
		Timestamp   string `json:"timestamp"`
	}
	discordMentions struct {
		Parse []string `json:"parse"`
	}
)

// discordCall makes the title the text, which is what a phone shows, and the body an embed. A
// message that ends another one takes its place.
func (c *chatConfig) discordCall(to *url.URL, m *Message) (call, error) {
	message := discordMessage{
		Content:         cutMarkdown(c.title(m, escapeMarkdown), maxDiscordText),
		AllowedMentions: discordMentions{Parse: []string{}},
	}
	if c.TitleTemplate != "" {
		message.AllowedMentions.Parse = []string{"everyone", "roles", "users"} // those of the template: values make none
	}
	body, address := c.body(m, escapeMarkdown), link(m)
	if blank(body) {
		body = ""
	}
	if to := m.acknowledge(""); to != "" {
		acknowledge := "\n\n[Acknowledge](<" + to + ">)"
		body = cutMarkdown(body, maxDiscordEmbedBody-characters(acknowledge)) + acknowledge
	}
	if body != "" || address != "" {
		embed := discordEmbed{
			Description: cutMarkdown(body, maxDiscordEmbedBody), URL: address, Color: color(m), Timestamp: m.Time.UTC().Format(time.RFC3339),
		}
		if address != "" {
			embed.Title = cutCharacters(linkName(m), maxDiscordEmbedTitle)
		}
		message.Embeds = append(message.Embeds, embed)
	}
	if blank(message.Content) {
		message.Content = linkName(m)
	}
	made, err := asJSON(message)
	if m.Previous != "" && strings.Trim(m.Previous, digits) == "" && err == nil {
		made.method, made.url = http.MethodPatch, to.JoinPath("messages", m.Previous)
		query := made.url.Query()
		query.Del("wait") // an edit always waits
		made.url.RawQuery = query.Encode()
	}
	return made, err
}

// color is that of a message's severity, or of its end, as red, green and blue.
func color(m *Message) int {
	switch {
	case m.over():
		return 0x2e7d32
	case m.Severity == vigil.Critical:
		return 0xc62828
	case m.Severity == vigil.Warning:
		return 0xf9a825
	}
	return 0x1565c0
}
