// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"net/url"
	"strconv"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// defaultPushover is the public server of Pushover.
const defaultPushover = "https://api.pushover.net"

// Bounds of a message, in characters (pushover.net/api, "Limitations"). An address that is longer is
// left out: a part of it leads nowhere.
const (
	maxPushoverTitle = 250
	maxPushoverText  = 1024
	maxPushoverURL   = 512
)

// pushoverFormat sends notifications by Pushover (pushover.net/api). Text is plain. Priority 1 is shown
// in quiet hours as well; 2, which is repeated until somebody acknowledges it, is that of a pager, so
// it is not used.
func pushoverFormat() format[pushConfig] {
	return format[pushConfig]{
		name:     "pushover",
		title:    "Pushover",
		hosts:    []string{"api.pushover.net"},
		takes:    []string{"token", "user_key", "device", "server"},
		required: 2,
		build: func(env *environment, c *pushConfig, hidden *redact.Redactor) (*poster, error) {
			for member, text := range map[string]string{"token": c.Token, "user_key": c.UserKey} {
				if err := checkVisible(member, text); err != nil {
					return nil, err
				}
			}
			p, err := env.at("config.server", cmp.Or(c.Server, defaultPushover), hidden, "1/messages.json")
			if err != nil {
				return nil, err
			}
			p.reference = textAt("request")
			p.call = func(m *Message) (call, error) { return asForm(c.pushoverMessage(m)), nil }
			return p, nil
		},
	}
}

func (c *pushConfig) pushoverMessage(m *Message) url.Values {
	title, body, priority := c.title(m, asIs), c.body(m, asIs), "0"
	if blank(body) {
		body = title
	}
	if blank(body) {
		body = linkName(m) // a message without text is refused
	}
	end := ""
	if to := m.acknowledge(""); to != "" {
		end = "\n\nAcknowledge: " + to
	}
	switch {
	case m.over():
	case m.Severity == vigil.Critical:
		priority = "1"
	case m.Severity == vigil.Info:
		priority = "-1"
	}
	fields := url.Values{
		"token": {c.Token}, "user": {c.UserKey}, "message": {cutCharacters(body, maxPushoverText-characters(end)) + end}, "priority": {priority},
		"timestamp": {strconv.FormatInt(m.Time.Unix(), 10)},
	}
	if !blank(title) {
		fields.Set("title", cutCharacters(title, maxPushoverTitle))
	}
	if to := link(m); to != "" && len(to) <= maxPushoverURL {
		fields.Set("url", to)
		fields.Set("url_title", linkName(m))
	}
	if c.Device != "" {
		fields.Set("device", c.Device)
	}
	return fields
}
