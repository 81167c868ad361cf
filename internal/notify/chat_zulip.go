// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// Bounds of a message of Zulip, in characters, as servers have them by default (zulip.com/api/register-queue,
// max_message_length and max_topic_length). A server cuts a message or a topic that is longer than its own.
const (
	maxZulipText  = 10000
	maxZulipTopic = 60
)

// zulipFormat sends messages of a bot to a topic of a channel (zulip.com/api/send-message;
// zulip.com/help/format-your-message-using-markdown and /help/mention-a-user-or-group). Mentions are
// @**name**, @_**name** and @*group*. What a server answers to too many requests has retry-after, in
// seconds.
func zulipFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "zulip", title: "Zulip", takes: []string{"server", "email", "token", "stream", "topic"}, required: 4,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			if !visible(c.Email) || strings.Contains(c.Email, ":") || !strings.Contains(c.Email, "@") {
				return nil, vigil.Invalid("config.email", "must be the email address of the bot")
			}
			signed := egress.BasicCredentials(c.Email, c.Token)
			p, err := env.at("config.server", c.Server, hidden.With(signed), "api/v1/messages")
			if err != nil {
				return nil, err
			}
			p.wait, p.reference = waitAt(time.Second, "retry-after"), textAt("id")
			p.call = func(m *Message) (call, error) {
				made := asForm(c.zulipMessage(m))
				made.header.Set("Authorization", "Basic "+signed)
				return made, nil
			}
			return p, nil
		},
	}
}

func (c *chatConfig) zulipMessage(m *Message) url.Values {
	title, end := c.title(m, escapeZulip), markdownLink(m)
	if blank(title) {
		title = linkName(m)
	}
	if c.TitleTemplate == "" {
		title = "**" + title + "**"
	}
	topic := cmp.Or(c.Topic, defuse(singleLine(m.Variables["check_name"])))
	if blank(topic) {
		topic = "Vigil"
	}
	return url.Values{
		"type": {"stream"}, "to": {c.Stream}, "topic": {cutCharacters(topic, maxZulipTopic)},
		"content": {cutCharacters(joinLines(title, c.body(m, escapeZulip)), maxZulipText-characters(end)) + end},
	}
}

// zulipMarks are what a value would mention, or link to, with.
var zulipMarks = strings.NewReplacer( //nolint:gochecknoglobals // a constant that Go cannot spell as one
	"@*", "@\u200b*", "@_*", "@\u200b_*", "#*", "#\u200b*", "](", "]\u200b(", "**", "*\u200b*",
)

// escapeZulip keeps a value from mentioning people and from being a link: Zulip has no escape for
// its own marks.
func escapeZulip(text string) string { return zulipMarks.Replace(defuse(text)) }
