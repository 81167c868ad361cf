// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"github.com/vigil-monitor/vigil/internal/redact"
)

// maxMattermostText bounds a text, in characters: Mattermost makes several messages of a longer one
// (developers.mattermost.com/integrate/webhooks/incoming: 16,383).
const maxMattermostText = 16383

// mattermostFormat posts Markdown to an incoming webhook of Mattermost
// (developers.mattermost.com/integrate/webhooks/incoming). Names after @ mention people wherever
// they stand. Too many messages are answered with Retry-After.
func mattermostFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "mattermost", title: "Mattermost", takes: []string{"webhook_url"}, required: 1,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			p, err := c.webhook(env, hidden)
			if err != nil {
				return nil, err
			}
			p.call = func(m *Message) (call, error) {
				return asJSON(struct {
					Text string `json:"text"`
				}{c.markdownText(m, maxMattermostText)})
			}
			return p, nil
		},
	}
}

// markdownText is a message as Markdown: a title in bold, the body and a link.
func (c *chatConfig) markdownText(m *Message, limit int) string {
	title, end := c.title(m, escapeMarkdown), markdownLink(m)
	if c.TitleTemplate == "" && !blank(title) {
		title = "**" + title + "**"
	}
	text := joinLines(title, c.body(m, escapeMarkdown))
	if blank(text) {
		text = linkName(m)
	}
	return cutMarkdown(text, limit-characters(end)) + end
}
