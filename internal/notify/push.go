// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"regexp"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// defaultPushServer is the public server of ntfy.
const defaultPushServer = "https://ntfy.sh"

// maxPush bounds a message, in bytes: ntfy makes an attachment of more than
// 4,096.
const maxPush = 4000

var _ = register(newPush)

// newPush makes the channel type that publishes to a topic in ntfy's form.
func newPush(env *environment) Notifier {
	return pushType{env, regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`)}
}

type pushType struct {
	*environment

	topic *regexp.Regexp
}

// pushConfig is the config of a push channel (spec section 2).
type pushConfig struct {
	Topic    string `json:"topic" minLength:"1" maxLength:"64" doc:"Topic to publish to: letters, digits, hyphens and underscores." example:"shop-alerts"`
	Server   string `json:"server,omitempty" place:"url" maxLength:"2048" format:"uri" default:"https://ntfy.sh" doc:"Server that has the topic."`
	Username string `json:"username,omitempty" maxLength:"200" doc:"User name, where the server needs one."`
	Password string `json:"password,omitempty" secret:"true" maxLength:"1024" doc:"Password of the user. With an access token: the token, and no user name."`
	Wording
}

func (pushType) Type() vigil.ChannelType { return vigil.ChannelPush }
func (pushType) Documents() any          { return pushConfig{} }

// Policy: a late message is of little use, so there are few attempts. The subscribers of the
// topic that had the alert get its end.
func (pushType) Policy() Policy {
	return Policy{MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true, Address: "topic server"}
}

// Parse reads the config.
func (t pushType) Parse(given json.RawMessage) (Sender, error) {
	p := &push{environment: t.environment}
	hidden, err := t.read(t.Type(), given, &p.config)
	if err != nil {
		return nil, err
	}
	if !t.topic.MatchString(p.config.Topic) {
		return nil, vigil.Invalid("config.topic", "must be made of letters, digits, hyphens and underscores")
	}
	server, err := t.parseURL("config.server", cmp.Or(p.config.Server, defaultPushServer))
	if err != nil {
		return nil, err
	}
	if server.RawQuery != "" {
		return nil, vigil.Invalid("config.server", "must not have a query")
	}
	p.url = server.JoinPath(p.config.Topic)
	p.hidden = hidden
	if p.config.Password != "" {
		p.hidden = hidden.With(base64.StdEncoding.EncodeToString([]byte(p.config.Username + ":" + p.config.Password)))
	}
	return p, p.config.check()
}

type push struct {
	*environment

	config pushConfig
	url    *url.URL
	hidden *redact.Redactor
}

func (p *push) Target() string { return p.url.Host }

// Send publishes the body, with title, priority, tags and link as headers
// (docs.ntfy.sh/publish).
func (p *push) Send(ctx context.Context, m Message) Outcome {
	header := make(http.Header)
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Title", mime.BEncoding.Encode("utf-8", mail.HeaderText(p.config.title(&m, asIs))))
	priority, tags := urgency(&m)
	header.Set("Priority", priority)
	header.Set("Tags", tags)
	if link := m.Variables["incident_url"]; link != "" && visible(link) {
		header.Set("Click", link)
	}
	body := p.config.body(&m, asIs)
	if blank(body) {
		body = p.config.title(&m, asIs) // of a message without a text ntfy shows the word "triggered"
	}
	r := request{method: http.MethodPost, url: p.url, header: header, hidden: p.hidden, body: []byte(cut(body, maxPush))}
	if p.config.Password != "" {
		signed := http.Request{Header: header}
		signed.SetBasicAuth(p.config.Username, p.config.Password)
	}
	return p.send(ctx, r)
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
