// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// defaultPushServer is the public server of ntfy.
const defaultPushServer = "https://ntfy.sh"

// maxPush bounds a message, in bytes: ntfy makes an attachment of more than
// 4,096.
const maxPush = 4000

// topicOfNtfy is what a topic is made of.
var topicOfNtfy = regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`) // compiled once

// ntfyFormat publishes to a topic of ntfy (docs.ntfy.sh/publish).
func ntfyFormat() format[pushConfig] {
	return format[pushConfig]{
		name: "ntfy", title: "ntfy", hosts: []string{"ntfy.sh"}, takes: []string{"topic", "server", "username", "password"}, required: 1,
		build: func(env *environment, c *pushConfig, hidden *redact.Redactor) (*poster, error) {
			if !topicOfNtfy.MatchString(c.Topic) {
				return nil, vigil.Invalid("config.topic", "must be made of letters, digits, hyphens and underscores")
			}
			if c.Password != "" {
				hidden = hidden.With(egress.BasicCredentials(c.Username, c.Password))
			}
			p, err := env.at("config.server", cmp.Or(c.Server, defaultPushServer), hidden, c.Topic)
			if err != nil {
				return nil, err
			}
			p.call = c.ntfyCall
			return p, nil
		},
	}
}

// ntfyCall publishes the body, with title, priority, tags and link as headers.
func (c *pushConfig) ntfyCall(m *Message) (call, error) {
	header := make(http.Header)
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Title", mime.BEncoding.Encode("utf-8", mail.HeaderText(c.title(m, asIs))))
	priority, tags := urgency(m)
	header.Set("Priority", priority)
	header.Set("Tags", tags)
	if link := m.Variables["incident_url"]; link != "" && visible(link) {
		header.Set("Click", link)
	}
	var actions []string
	for _, l := range m.links("") {
		if !strings.ContainsAny(l.URL, `,;"'`) { // what parts of an action are separated and quoted by
			actions = append(actions, "view, "+l.Name+", "+l.URL)
		}
	}
	if len(actions) > 1 { // a click opens the one that is alone
		header.Set("Actions", strings.Join(actions, "; "))
	}
	body := c.body(m, asIs)
	if blank(body) {
		body = c.title(m, asIs) // of a message without a text ntfy shows the word "triggered"
	}
	if c.Password != "" {
		header.Set("Authorization", "Basic "+egress.BasicCredentials(c.Username, c.Password))
	}
	return call{header: header, body: []byte(cut(body, maxPush))}, nil
}

// urgency is a priority of ntfy, 1 to 5, and the tag that it shows as a symbol.
func urgency(m *Message) (priority, tag string) {
	switch {
	case m.over():
		return "3", "white_check_mark"
	case m.Severity == vigil.Critical:
		return "5", "rotating_light"
	case m.Severity == vigil.Warning:
		return "4", "warning"
	}
	return "3", "information_source"
}
