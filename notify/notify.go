package notify

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/egress"
)

// Timeout is the longest that one attempt takes.
const Timeout = 15 * time.Second

// Attempts that a delivery has before it is given up.
const (
	manyAttempts = 12 // webhook and email
	fewAttempts  = 6  // what is late is of no use: push, chat, pager
)

// Message is what a channel is told.
type Message struct {
	// Event is the same on every attempt; receivers know repetitions by it.
	Event    uuid.UUID
	Type     vigil.EventType
	Delivery uuid.UUID
	Attempt  int       // 1 for the first
	Time     time.Time // of the event
	// Incident groups what belongs together; zero for a test.
	Incident uuid.UUID
	Severity vigil.Severity
	// Title and Body are what a channel without templates says.
	Title, Body string
	// Variables are the values for templates, by the names of vigil.Variables.
	Variables map[string]string
	// Envelope is a webhook's body, sent as it is on every attempt.
	Envelope []byte
	// Merged: an incident that began and ended is told in one message.
	Merged bool
}

// over reports whether the message says that the incident has ended.
func (m *Message) over() bool { return m.Merged || m.Type == vigil.EventResolved }

// Notifier is a channel type.
type Notifier interface {
	Type() vigil.ChannelType
	// Parse reads a config. Every mistake is a vigil.Invalid error that names
	// the member by its path ("config.url") and never repeats its value. No
	// name is resolved, but an address that may not be reached is refused.
	Parse(config json.RawMessage) (Sender, error)
	// MaxAttempts is how often a delivery is tried.
	MaxAttempts() int
	// Documents returns a zero value of the struct that documents the config,
	// with json, doc, minLength, maxLength, enum, default, format and example
	// tags.
	Documents() any
}

// Sender is a config that was read. It may be used by any number of goroutines.
type Sender interface {
	// Target is the host that is told, or the addresses of people: nothing of
	// a URL that could be a secret.
	Target() string
	// Send tries once. It returns within Timeout, or when ctx ends.
	Send(ctx context.Context, m Message) Outcome
}

// mailer sends mail; a *mail.Mailer is one.
type mailer interface {
	Send(ctx context.Context, m vigil.Mail) error
}

// Registry holds all channel types.
type Registry struct {
	notifiers map[vigil.ChannelType]Notifier
}

// Option changes what channels use of their surroundings.
type Option func(*kinds)

// WithMail gives the way to send mail. Without it every email fails.
func WithMail(m mailer) Option { return func(k *kinds) { k.mail = m } }

// WithRoots makes receivers be verified against these authorities instead of
// the machine's.
func WithRoots(roots *x509.CertPool) Option { return func(k *kinds) { k.roots = roots } }

// WithClock sets the clock that signatures and durations are read from.
func WithClock(now func() time.Time) Option { return func(k *kinds) { k.now = now } }

// WithTimeout sets the longest that one attempt takes.
func WithTimeout(timeout time.Duration) Option { return func(k *kinds) { k.timeout = timeout } }

// kinds makes the channel types: each of its exported methods returns one, and
// NewRegistry calls them all. A file that adds a method adds a type, and no
// other file has to know.
type kinds struct {
	guard   *egress.Guard
	mail    mailer
	roots   *x509.CertPool // nil: the machine's
	now     func() time.Time
	timeout time.Duration
}

// NewRegistry makes the registry of all types, which reach their receivers
// through the guard.
func NewRegistry(guard *egress.Guard, opts ...Option) *Registry {
	k := &kinds{guard: guard, timeout: Timeout, now: time.Now} //nolint:forbidigo // the default of an injected clock
	for _, opt := range opts {
		opt(k)
	}
	r := &Registry{notifiers: make(map[vigil.ChannelType]Notifier)}
	for _, method := range reflect.ValueOf(k).Methods() {
		notifier := method.Call(nil)[0].Interface().(Notifier) // a wrong method fails every test
		r.notifiers[notifier.Type()] = notifier
	}
	return r
}

// Types returns all channel types, sorted.
func (r *Registry) Types() []vigil.ChannelType {
	return slices.Sorted(maps.Keys(r.notifiers))
}

// Parse reads the config of a channel of a type. All errors are vigil.Invalid.
func (r *Registry) Parse(t vigil.ChannelType, config json.RawMessage) (Sender, error) {
	notifier, ok := r.notifiers[t]
	if !ok {
		names := make([]string, 0, len(r.notifiers))
		for _, known := range r.Types() {
			names = append(names, string(known))
		}
		return nil, vigil.Invalid("type", "unknown channel type; the known ones are %s", strings.Join(names, ", "))
	}
	return notifier.Parse(config)
}

// MaxAttempts is how often a delivery to a channel of a type is tried; 0 for an
// unknown type.
func (r *Registry) MaxAttempts(t vigil.ChannelType) int {
	if notifier, ok := r.notifiers[t]; ok {
		return notifier.MaxAttempts()
	}
	return 0
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
// the delivery is, and is Message.Envelope from then on. Channels that do not
// send the envelope leave it as it is.
func Freeze(s Sender, m Message) []byte {
	if f, ok := s.(interface{ freeze(m Message) []byte }); ok {
		return f.freeze(m)
	}
	return m.Envelope
}
