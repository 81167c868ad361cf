// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// gotifyFormat posts messages of an application to a server of Gotify (gotify.net/docs/pushmsg,
// gotify.net/docs/msgextras). Text is plain, as client::display says. A priority of 8 and more makes
// a sound on phones, and one below 4 makes none.
func gotifyFormat() format[pushConfig] {
	return format[pushConfig]{
		name: "gotify", title: "Gotify", takes: []string{"server", "token"}, required: 2,
		build: func(env *environment, c *pushConfig, hidden *redact.Redactor) (*poster, error) {
			if err := checkVisible("token", c.Token); err != nil {
				return nil, err
			}
			p, err := env.at("config.server", c.Server, hidden, "message")
			if err != nil {
				return nil, err
			}
			p.reference = textAt("id")
			p.call = func(m *Message) (call, error) {
				made, err := asJSON(c.gotifyMessage(m))
				if err == nil {
					made.header.Set("X-Gotify-Key", c.Token)
				}
				return made, err
			}
			return p, nil
		},
	}
}

// The members of a message of Gotify.
type (
	gotifyMessage struct {
		Title    string       `json:"title"`
		Message  string       `json:"message"`
		Priority int          `json:"priority"`
		Extras   gotifyExtras `json:"extras"`
	}
	gotifyExtras struct {
		Display      gotifyDisplay       `json:"client::display"`
		Notification *gotifyNotification `json:"client::notification,omitempty"`
	}
	gotifyDisplay struct {
		ContentType string `json:"contentType"`
	}
	gotifyNotification struct {
		Click gotifyClick `json:"click"`
	}
	gotifyClick struct {
		URL string `json:"url"`
	}
)

func (c *pushConfig) gotifyMessage(m *Message) gotifyMessage {
	message := gotifyMessage{
		Title: c.title(m, asIs), Message: c.body(m, asIs), Priority: 4,
		Extras: gotifyExtras{Display: gotifyDisplay{ContentType: "text/plain"}},
	}
	if blank(message.Message) {
		message.Message = message.Title
	}
	if blank(message.Message) {
		message.Message = linkName(m) // a message without text is refused
	}
	if to := m.acknowledge(""); to != "" {
		message.Message += "\n\nAcknowledge: " + to
	}
	switch {
	case m.over():
	case m.Severity == vigil.Critical:
		message.Priority = 8
	case m.Severity == vigil.Warning:
		message.Priority = 6
	}
	if to := link(m); to != "" {
		message.Extras.Notification = &gotifyNotification{Click: gotifyClick{URL: to}}
	}
	return message
}
