package notify

import (
	"context"
	"encoding/json"
	"errors"
	netmail "net/mail"
	"slices"
	"strings"

	"github.com/google/uuid"

	"vigil"
	"vigil/mail"
	"vigil/redact"
)

var _ = register(newEmail)

// newEmail makes the channel type that sends mail.
func newEmail(env *environment) Notifier { return emailType{env} }

type emailType struct{ *environment }

// emailConfig is the config of an email channel in both of the spec's forms.
type emailConfig struct {
	To    []string `json:"to,omitempty" maxItems:"50" doc:"Addresses. At least one is needed, here or in email." example:"[\"oncall@example.com\"]"`
	Email string   `json:"email,omitempty" maxLength:"254" format:"email" doc:"One address."`
	Wording
}

func (emailType) Type() vigil.ChannelType { return vigil.ChannelEmail }
func (emailType) Documents() any          { return emailConfig{} }

// Policy: mail may be late, but a reader gets one message instead of two.
func (emailType) Policy() Policy {
	return Policy{MaxAttempts: 12, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true}
}

// Parse reads the config.
func (t emailType) Parse(given json.RawMessage) (Sender, error) {
	e := &email{environment: t.environment}
	hidden, err := t.read(t.Type(), given, &e.config)
	if err != nil {
		return nil, err
	}
	e.hidden = hidden
	for _, to := range e.config.To {
		if !plainAddress(to) {
			return nil, vigil.Invalid("config.to", "must be a list of email addresses such as ada@example.com")
		}
	}
	e.to = slices.Clone(e.config.To)
	if e.config.Email != "" {
		if !plainAddress(e.config.Email) {
			return nil, vigil.Invalid("config.email", "must be an email address such as ada@example.com")
		}
		e.to = append(e.to, e.config.Email)
	}
	slices.Sort(e.to)
	if e.to = slices.Compact(e.to); len(e.to) == 0 {
		return nil, vigil.Invalid("config.to", "is required, a list of email addresses; or one address as config.email")
	}
	return e, e.config.check()
}

// plainAddress reports whether a text is an address that every mail server
// understands, without a display name.
func plainAddress(text string) bool {
	parsed, err := netmail.ParseAddress(text)
	return err == nil && parsed.Address == text && len(text) <= 254 && visible(text) && !strings.ContainsAny(text, `<>"`)
}

type email struct {
	*environment

	config emailConfig
	to     []string
	hidden *redact.Redactor
}

func (e *email) Target() string { return strings.Join(e.to, ", ") }

// Send sends one mail to all addresses. The mail of an event has the same id on every
// attempt, and those of an incident share a thread.
func (e *email) Send(ctx context.Context, m Message) Outcome {
	if e.mail == nil {
		return Outcome{ErrorCode: CodeConfig, Error: "this instance has no way to send mail", Permanent: true}
	}
	began := e.now()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	letter := mail.Message{To: e.to, Subject: e.config.title(&m, asIs), Text: e.text(&m), HTML: e.html(&m), ID: m.Event.String()}
	if m.Incident != uuid.Nil {
		letter.Thread = m.Incident.String()
	}
	outcome := mailed(e.mail.Send(ctx, letter))
	outcome.Error, outcome.ResponseBody = e.hidden.Text(outcome.Error), e.hidden.Text(outcome.ResponseBody)
	outcome.Duration = e.now().Sub(began)
	return outcome
}

// mailed is the outcome of a mail. One that went out is not sent again for those
// who will never take it.
func mailed(err error) Outcome {
	if err == nil {
		return Outcome{}
	}
	failure, ok := errors.AsType[*mail.Error](err)
	if !ok {
		return Outcome{ErrorCode: CodeProtocol, Error: "the mail could not be sent"}
	}
	o := Outcome{StatusCode: failure.Status, ResponseBody: failure.Reply}
	if !failure.Final() {
		o.ErrorCode, o.Error = failure.Code, failure.Message
	}
	return o
}

func (e *email) text(m *Message) string {
	text := e.config.body(m, asIs)
	if link := m.Variables["incident_url"]; link != "" {
		text += "\n\n" + singleLine(link)
	}
	return text + "\n\n-- \n" + footer(m) + "\n"
}

// html is the text with colors. Templates are text in every
// channel: markup in them, and in values, is shown and not obeyed.
func (e *email) html(m *Message) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><body style="font-family:sans-serif;color:#222">` + "\n")
	b.WriteString(`<h2 style="border-left:6px solid ` + colour(m) + `;padding-left:12px">` + escapeHTML(e.config.title(m, asIs)) + "</h2>\n")
	b.WriteString("<p>" + escapeHTML(e.config.body(m, asIs)) + "</p>\n")
	link := m.Variables["incident_url"]
	if strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://") {
		b.WriteString(`<p><a href="` + escapeHTML(singleLine(link)) + `">Incident</a></p>` + "\n")
	}
	b.WriteString(`<p style="color:#777;font-size:small">` + escapeHTML(footer(m)) + "</p>\n</body></html>\n")
	return b.String()
}

func footer(m *Message) string {
	if name := singleLine(m.Variables["organization_name"]); name != "" {
		return "Sent by Vigil for " + name
	}
	return "Sent by Vigil"
}

func colour(m *Message) string {
	switch {
	case m.over():
		return "#2e8b57"
	case m.Severity == vigil.Critical:
		return "#c62828"
	case m.Severity == vigil.Warning:
		return "#ef6c00"
	}
	return "#1565c0"
}
