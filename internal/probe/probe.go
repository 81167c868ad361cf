// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// Prober is a check type.
type Prober interface {
	Type() vigil.CheckType
	// Parse reads a config and makes a probe of it. Every mistake is a
	// vigil.Invalid error that names the member by its path ("config.url").
	// No name is resolved, but an address that may not be reached is refused.
	// The whole run must fit the interval.
	Parse(given json.RawMessage, interval time.Duration) (Probe, error)
	// Documents returns zero values of the structs that document the config
	// and the metadata of results, with json, doc, minimum, maximum, enum,
	// default and example tags.
	Documents() (config, metadata any)
	// Describe says what the type is for.
	Describe() TypeInfo
}

// Probe is a config that was read: one target, ready to run any number of
// times, by several goroutines at once.
type Probe interface {
	// Deadline is the longest that Run takes.
	Deadline() time.Duration
	// Target is the host, with a port where there is one: for people, and
	// without anything of a URL that could be a secret.
	Target() string
	// Run probes the target once. It returns when ctx ends, or at its deadline, at the
	// latest. When ctx ended first the observation says nothing about the
	// target, and the caller drops it.
	Run(ctx context.Context) vigil.Observation
}

// Changing is a Probe that may change something at its target, such as one that sends mail.
type Changing interface {
	// Changes says what makes it unsafe to repeat the probe, such as "config.method is
	// POST"; empty when nothing does.
	Changes() string
}

// ChangesOf returns what makes it unsafe to repeat a probe, empty for a safe one.
func ChangesOf(p Probe) string {
	if changing, ok := p.(Changing); ok {
		return changing.Changes()
	}
	return ""
}

// Registry holds all check types.
type Registry struct {
	probers map[vigil.CheckType]Prober
	secrets map[vigil.CheckType]secret.Fields
	// described is what Describe returns: forms and refusals ask for it each time.
	described func() []TypeInfo
}

// Option changes what probes use of their surroundings.
type Option func(*environment)

// WithRoots makes TLS targets be verified against these authorities instead of
// the machine's.
func WithRoots(roots *x509.CertPool) Option {
	return func(env *environment) { env.roots = roots }
}

// WithType adds a check type to those of this package.
func WithType(added Prober) Option {
	return func(env *environment) { env.added = append(env.added, added) }
}

// environment is what the check types use of their surroundings.
type environment struct {
	guard *egress.Guard
	roots *x509.CertPool // nil: the machine's
	// client makes the client of an HTTP exchange.
	client func(*egress.Guard, context.Context, egress.ClientOptions) *http.Client
	// drills: the registry has the type of the hidden checks of drills.
	drills bool
	added  []Prober
	// bootstrap knows the RDAP servers; nil until the domain type is made: IANA's list.
	bootstrap *bootstrap
	// tokens are the access tokens of HTTP checks.
	tokens *tokens
	// registry is complete once NewRegistry returns, so when configs are read.
	registry *Registry
}

// builders makes the check types, one for each call of register.
var builders []func(*environment) Prober //nolint:gochecknoglobals // written by the types' files before main, read afterwards

// register adds a check type. The type's own file calls it, so that a new type
// is one new file:
//
//	var _ = register(newTCP)
func register(build func(*environment) Prober) bool {
	builders = append(builders, build)
	return true
}

// NewRegistry makes the registry of all types, which reach their targets
// through the guard.
func NewRegistry(guard *egress.Guard, opts ...Option) *Registry {
	env := &environment{guard: guard, client: (*egress.Guard).DirectClient, tokens: newTokens()}
	for _, opt := range opts {
		opt(env)
	}
	r := &Registry{probers: make(map[vigil.CheckType]Prober, len(builders))}
	env.registry = r
	for _, build := range builders {
		prober := build(env)
		r.probers[prober.Type()] = prober
	}
	for _, prober := range env.added {
		r.probers[prober.Type()] = prober
	}
	if env.drills {
		r.probers[vigil.TypeDrill] = drillProber{}
	}
	r.secrets = r.readSecrets(r.readSecrets(nil))
	r.described = sync.OnceValue(r.describe)
	return r
}

// readSecrets reads the secret members of every type from its tags. The steps of
// a multistep check have those that are given.
func (r *Registry) readSecrets(ofSteps map[vigil.CheckType]secret.Fields) map[vigil.CheckType]secret.Fields {
	found := make(map[vigil.CheckType]secret.Fields, len(r.probers))
	for t := range r.probers {
		found[t] = config.Secrets(r.Config(t), ofSteps)
	}
	return found
}

// Secrets returns the secret members of the configs of all check types.
func Secrets() map[vigil.CheckType]secret.Fields { return NewRegistry(nil).secrets }

// Secrets returns the secret members of the configs of a type.
func (r *Registry) Secrets(t vigil.CheckType) secret.Fields {
	return secret.Configs{Checks: r.secrets}.Check(t)
}

// read decodes a config of a type and returns what hides its secrets.
func (env *environment) read(t vigil.CheckType, given json.RawMessage, into any) (*redact.Redactor, error) {
	if err := config.Decode(given, into, "check", maxConfigBytes); err != nil {
		return nil, err
	}
	return redact.New(redactable(env.registry.secrets[t].Values(given)...)...), nil
}

// minSecret is the length in bytes below which hiding a text would only garble
// others.
const minSecret = 4

// redactable lists what of secrets is hidden: each as a whole and, where it is a
// header's value such as "Bearer ...", the credentials alone.
func redactable(secrets ...string) []string {
	var texts []string
	for _, secret := range secrets {
		_, credentials, _ := strings.Cut(secret, " ")
		for _, text := range []string{secret, credentials} {
			if len(text) >= minSecret {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// Types returns all check types, sorted.
func (r *Registry) Types() []vigil.CheckType {
	return slices.Sorted(maps.Keys(r.probers))
}

// Parse reads the config of a check of a type. All errors are vigil.Invalid.
func (r *Registry) Parse(t vigil.CheckType, config json.RawMessage, interval time.Duration) (Probe, error) {
	prober, ok := r.probers[t]
	if !ok {
		names := make([]string, 0, len(r.probers))
		for _, known := range r.Types() {
			names = append(names, string(known))
		}
		return nil, vigil.Invalid("type", "unknown check type; the known ones are %s", strings.Join(names, ", "))
	}
	return prober.Parse(config, interval)
}

// Config returns a zero value of the struct that documents the config of a
// type, or nil for an unknown type.
func (r *Registry) Config(t vigil.CheckType) any {
	config, _ := r.documents(t)
	return config
}

// Metadata returns a zero value of the struct that documents the metadata of a
// type's results, or nil for an unknown type.
func (r *Registry) Metadata(t vigil.CheckType) any {
	_, metadata := r.documents(t)
	return metadata
}

func (r *Registry) documents(t vigil.CheckType) (config, metadata any) {
	if prober, ok := r.probers[t]; ok {
		return prober.Documents()
	}
	return nil, nil
}

// Unavailable returns the types that cannot run on this machine, sorted.
func (r *Registry) Unavailable(ctx context.Context) []vigil.CheckType {
	found := r.Available(ctx)
	maps.DeleteFunc(found, func(_ vigil.CheckType, missing error) bool { return missing == nil })
	return slices.Sorted(maps.Keys(found))
}

// Available reports, for the types that need something of the machine, whether
// they can run here: nil, or why not. Types that always run are left out.
func (r *Registry) Available(ctx context.Context) map[vigil.CheckType]error {
	found := make(map[vigil.CheckType]error)
	for t, prober := range r.probers {
		if demanding, ok := prober.(interface{ Available(context.Context) error }); ok {
			found[t] = demanding.Available(ctx)
		}
	}
	return found
}
