// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	netmail "net/mail"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/redact"
)

var _ = register(newEmail)

// newEmail makes the channel type that sends mail.
func newEmail(env *environment) Notifier { return emailType{env} }

type emailType struct{ *environment }

// emailConfig is the config of an email channel in both of the spec's forms.
type emailConfig struct {
	To    []string `json:"to,omitempty" title:"Addresses" maxItems:"50" doc:"Addresses. At least one is needed, here or in email." example:"[\"oncall@example.com\"]"`
	Email string   `json:"email,omitempty" maxLength:"254" format:"email" doc:"One address."`
	Wording
}

func (emailType) Type() vigil.ChannelType { return vigil.ChannelEmail }
func (emailType) Documents() any          { return emailConfig{} }

// Describe says what the type is for.
func (emailType) Describe() TypeInfo {
	return TypeInfo{Position: 2, Title: "Email", About: "sends mail to people"}
}

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
	slices.SortStableFunc(e.to, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	if e.to = slices.CompactFunc(e.to, strings.EqualFold); len(e.to) == 0 {
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

// Send sends one mail to all addresses or, where recipients can unsubscribe, one to each.
// The mail of an event has the same id on every attempt, and those of an incident share a
// thread.
func (e *email) Send(ctx context.Context, m Message) Outcome {
	if e.mail == nil {
		return Outcome{ErrorCode: CodeConfig, Error: "this instance has no way to send mail", Permanent: true}
	}
	began := e.now()
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	outcome := e.send(ctx, &m)
	outcome.Error, outcome.ResponseBody = e.hidden.Text(outcome.Error), e.hidden.Text(outcome.ResponseBody)
	outcome.Duration = e.now().Sub(began)
	return outcome
}

func (e *email) send(ctx context.Context, m *Message) Outcome {
	if e.recipients == nil {
		return mailed(e.mail.SendEach(ctx, []mail.Message{e.letter(m, asIs, e.to, "")}), 0)
	}
	delivery := m.Delivery
	if m.Type == vigil.EventTest {
		delivery = uuid.Nil
	}
	admission, err := e.recipients.store.AdmitMail(ctx, m.Organization, delivery, e.to, m.Manual)
	if err != nil {
		return Outcome{ErrorCode: CodeUnavailable, Error: "the recipients could not be read"}
	}
	// A failure to ask is no failure of the message: the next one asks again.
	defer func() { _ = e.ask(ctx, m.Organization, admission.Pending) }()
	if no := refused(admission); no != nil {
		return *no
	}
	filter := asIs
	if admission.Unverified {
		filter = vigil.WithoutLinks
	}
	letters := make([]mail.Message, len(admission.Recipients))
	for i, recipient := range admission.Recipients {
		letters[i] = e.letter(m, filter, []string{recipient.Address}, e.recipients.unsubscribeURL(recipient))
	}
	return e.recipients.send(ctx, e.mail, delivery, &admission, letters)
}

// letter is the mail of a message. What users and targets wrote goes through filter.
func (e *email) letter(m *Message, filter func(string) string, to []string, unsubscribe string) mail.Message {
	who := ""
	if len(to) == 1 {
		who = to[0]
	}
	shown := *m
	shown.Severity = "" // stands above the title
	c := mail.Letter{
		Tone: tone(m), Badge: badge(m), Title: filter(e.config.title(&shown, asIs)), Parts: m.parts(e.config.Wording, filter, who),
		Footer: []string{footer(filter(singleLine(m.Variables["organization_name"])))}, Unsubscribe: unsubscribe,
	}
	letter := mail.Message{
		To: to, Subject: filter(e.config.title(m, asIs)), Text: c.Text(), HTML: c.HTML(), ID: m.Event.String(), Unsubscribe: unsubscribe,
	}
	if m.Incident != uuid.Nil {
		letter.Thread = m.Incident.String()
	}
	return letter
}

// mailed is the outcome of the mails of a message that so many others have already. What went out is
// not sent again for those who will never take it.
func mailed(errs []error, have int) Outcome {
	sent := have
	var worst *mail.Error // one that may pass counts more than one that will not
	for _, err := range errs {
		failure, ok := errors.AsType[*mail.Error](err)
		switch {
		case err == nil:
			sent++
			continue
		case !ok:
			failure = &mail.Error{Code: CodeProtocol, Message: "the mail could not be sent"}
		case failure.Final():
			sent++
		}
		if worst == nil || failure.Status < worst.Status {
			worst = failure
		}
	}
	if worst == nil {
		return Outcome{}
	}
	o := Outcome{StatusCode: worst.Status, ResponseBody: worst.Reply}
	if sent == 0 || worst.Status < statusPermanent {
		o.ErrorCode, o.Error = worst.Code, worst.Message
	}
	return o
}

// statusPermanent is the first reply code of a mail server permanently (RFC 5321).
const statusPermanent = 500

func footer(organization string) string {
	if organization != "" {
		return "Sent by Vigil for " + organization
	}
	return "Sent by Vigil"
}

// tone is that of the design of a mail.
func tone(m *Message) string {
	if m.over() {
		return "resolved"
	}
	return string(cmp.Or(m.Severity, vigil.Info))
}

// badge is what stands above the title: how severe it is, or that it is over.
func badge(m *Message) string {
	switch {
	case m.Type == vigil.EventTest:
		return "Test"
	case m.over():
		return "Resolved"
	case m.Severity == "":
		return ""
	}
	return capital(string(m.Severity))
}
