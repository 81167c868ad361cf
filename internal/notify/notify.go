// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/redact"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// Timeout is the longest that one attempt takes.
const Timeout = 15 * time.Second

// Policy says how channels of a type receive messages: how often a delivery is
// attempted, and what the end of an incident does to an undelivered opening.
type Policy = vigil.DeliveryPolicy

// Message is what is sent to a channel.
type Message struct {
	// Event is the same on every attempt; receivers know repetitions by it.
	Event    uuid.UUID
	Type     vigil.EventType
	Delivery uuid.UUID
	// Organization that the message belongs to.
	Organization uuid.UUID
	Attempt      int       // 1 for the first
	Manual       bool      // a user requested the attempt
	Time         time.Time // of the event
	// Incident groups what belongs together: it is also the ID of a time without results; zero
	// for a test.
	Incident uuid.UUID
	Severity vigil.Severity
	// Title and Body are what a channel without templates says.
	Title, Body string
	// Note is a line below the text, also below that of a template; empty: there is none.
	Note string
	// Facts are what people read besides the text; nil for programs, and for a test.
	Facts *Facts
	// Variables are the values for templates, by the names of events.Variables.
	Variables map[string]string
	// Envelope is a webhook's body, sent as it is on every attempt.
	Envelope []byte
	// Traceparent continues the trace of the incident at a receiver; empty for a test.
	Traceparent string
	// Merged: one message for an incident that has already ended.
	Merged bool
	// Drill: a drill sends the message, which no template can hide.
	Drill bool
	// Previous is Outcome.Reference of the message that this one ends; empty where it is not
	// known, and then the message stands alone.
	Previous string
}

// over reports whether the message says that what it is about has ended.
func (m *Message) over() bool { return m.Merged || m.Type.Ends() }

// Notifier is a channel type.
type Notifier interface {
	Type() vigil.ChannelType
	// Parse reads a config. Every mistake is a vigil.Invalid error that names
	// the member by its path ("config.url") and never repeats its value. No
	// name is resolved, but an address that may not be reached is refused.
	Parse(given json.RawMessage) (Sender, error)
	// Policy returns a valid policy. Deliveries keep the one that they were created
	// with, so a change affects new incidents only.
	Policy() Policy
	// Documents returns a zero value of the struct that documents the config,
	// with json, doc, minLength, maxLength, enum, default, format and example
	// tags.
	Documents() any
	// Describe says what the type is for, and which formats it has.
	Describe() TypeInfo
}

// Sender is a config that was read. It may be used by any number of goroutines.
type Sender interface {
	// Target is the host of the receiver, or the addresses of people, without
	// any part of a URL that could be a secret.
	Target() string
	// Send tries once. It returns within Timeout, or when ctx ends.
	Send(ctx context.Context, m Message) Outcome
}

// mailer sends mail; a *mail.Mailer is one.
type mailer interface {
	// SendEach sends several mails and returns an error, or nil, for each.
	SendEach(ctx context.Context, mails []mail.Message) []error
	// SendWatched is SendEach with a watch that is called for each mail.
	SendWatched(ctx context.Context, mails []mail.Message, watch mail.Watch) []error
}

// Registry holds all channel types.
type Registry struct {
	notifiers map[vigil.ChannelType]Notifier
	secrets   map[vigil.ChannelType]secret.Fields
}

// Option changes what channels use of their surroundings.
type Option func(*environment)

// WithMail gives the way to send mail. Without it every email fails.
func WithMail(m mailer) Option { return func(env *environment) { env.mail = m } }

// WithRoots makes receivers be verified against these authorities instead of
// the machine's.
func WithRoots(roots *x509.CertPool) Option { return func(env *environment) { env.roots = roots } }

// WithClock sets the clock that signatures and durations are read from.
func WithClock(now func() time.Time) Option { return func(env *environment) { env.now = now } }

// WithTimeout sets the longest that one attempt takes.
func WithTimeout(timeout time.Duration) Option {
	return func(env *environment) { env.timeout = timeout }
}

// WithType adds a channel type to those of this package.
func WithType(added Notifier) Option {
	return func(env *environment) { env.added = append(env.added, added) }
}

// environment is what the channel types use of their surroundings.
type environment struct {
	guard *egress.Guard
	mail  mailer
	// recipients is nil where mail does not leave the machine.
	recipients *recipients
	roots      *x509.CertPool // nil: the machine's
	now        func() time.Time
	timeout    time.Duration
	added      []Notifier
	// secrets is complete once NewRegistry returns, so when configs are read.
	secrets map[vigil.ChannelType]secret.Fields
}

// builders makes the channel types, one for each call of register.
var builders []func(*environment) Notifier //nolint:gochecknoglobals // written by the types' files before main, read afterwards

// register adds a channel type. The type's own file calls it, so that a new type
// is one new file:
//
//	var _ = register(newWebhook)
func register(build func(*environment) Notifier) bool {
	builders = append(builders, build)
	return true
}

// NewRegistry makes the registry of all types, which reach their receivers
// through the guard.
func NewRegistry(guard *egress.Guard, opts ...Option) *Registry {
	env := &environment{guard: guard, timeout: Timeout, now: time.Now} //nolint:forbidigo // the default of an injected clock
	for _, opt := range opts {
		opt(env)
	}
	env.secrets = make(map[vigil.ChannelType]secret.Fields, len(builders))
	r := &Registry{notifiers: make(map[vigil.ChannelType]Notifier, len(builders)), secrets: env.secrets}
	notifiers := slices.Clone(env.added)
	for _, build := range builders {
		notifiers = append(notifiers, build(env))
	}
	for _, notifier := range notifiers {
		r.notifiers[notifier.Type()] = notifier
		r.secrets[notifier.Type()] = config.Secrets(notifier.Documents(), nil)
	}
	return r
}

// Secrets returns the secret members of the configs of all channel types.
func Secrets() map[vigil.ChannelType]secret.Fields { return NewRegistry(nil).secrets }

// Policies returns the delivery policies of all channel types.
func Policies() vigil.DeliveryPolicies { return NewRegistry(nil).Policies() }

// Policies returns the delivery policies of the types.
func (r *Registry) Policies() vigil.DeliveryPolicies {
	policies := make(vigil.DeliveryPolicies, len(r.notifiers))
	for t, notifier := range r.notifiers {
		policies[t] = notifier.Policy()
	}
	return policies
}

// Secrets returns the secret members of the configs of a type.
func (r *Registry) Secrets(t vigil.ChannelType) secret.Fields {
	return secret.Configs{Channels: r.secrets}.Channel(t)
}

// read decodes a config of a type and returns what hides its secrets.
func (env *environment) read(t vigil.ChannelType, given json.RawMessage, into any) (*redact.Redactor, error) {
	if err := config.Decode(given, into, "channel", maxConfigBytes); err != nil {
		return nil, err
	}
	return redact.New(credentials(env.secrets[t].Values(given))...), nil
}

// Types returns all channel types, sorted.
func (r *Registry) Types() []vigil.ChannelType {
	return slices.Sorted(maps.Keys(r.notifiers))
}

// Parse reads the config of a channel of a type. All errors are vigil.Invalid.
func (r *Registry) Parse(t vigil.ChannelType, given json.RawMessage) (Sender, error) {
	notifier, ok := r.notifiers[t]
	if !ok {
		names := make([]string, 0, len(r.notifiers))
		for _, known := range r.Types() {
			names = append(names, string(known))
		}
		return nil, vigil.Invalid("type", "unknown channel type; the known ones are %s", strings.Join(names, ", "))
	}
	return notifier.Parse(given)
}

// Format returns the name of the format in which the messages of a channel are: the one that its
// config names, or else that of the product whose address it has, or the default of the type. It is
// empty for a type that has one form.
func (r *Registry) Format(t vigil.ChannelType, given json.RawMessage) string {
	if formatted, ok := r.notifiers[t].(interface {
		format(given json.RawMessage) string
	}); ok {
		return formatted.format(given)
	}
	return ""
}

// Config returns a zero value of the struct that documents the config of a
// type, or nil for an unknown type.
func (r *Registry) Config(t vigil.ChannelType) any {
	if notifier, ok := r.notifiers[t]; ok {
		return notifier.Documents()
	}
	return nil
}

// Freeze returns the body that a delivery sends on all of its attempts, with
// the channel's own title and body where it has templates. It is made once, when
// the delivery is, and is Message.Envelope on every attempt. Channels that do not
// send the envelope leave it as it is.
func Freeze(s Sender, m Message) []byte {
	if f, ok := s.(interface{ freeze(m Message) []byte }); ok {
		return f.freeze(m)
	}
	return m.Envelope
}
