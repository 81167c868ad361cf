// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/agents"
	"github.com/vigil-monitor/vigil/api/alerts"
	"github.com/vigil-monitor/vigil/api/apply"
	"github.com/vigil-monitor/vigil/api/backtests"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/api/stream"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Deps is what the API needs.
type Deps struct {
	Stores Stores
	// Standby is a copy of the database for requests that change nothing; nil: there is none.
	Standby *Standby
	// MissingResults returns a context whose reads note of which regions they lack results, and what they have noted; nil: none can
	// be missing.
	MissingResults func(ctx context.Context) (context.Context, func() []string)
	Loops          resource.LoopWorkflows
	Probes         resource.CheckTypes
	Channels       resource.ChannelTypes
	// Incidents are the workflows of alerting; nil where there are none, so
	// that incidents can be read and not changed.
	Incidents resource.IncidentWorkflows
	// Mailer sends mail; nil sends none.
	Mailer accounts.Mailer
	Config Config
	// PrivateTargets says whether private addresses can be checked, and so who may use
	// the API; nil: it is not limited to this machine, as where they cannot.
	PrivateTargets rest.PrivateTargets
	// Temporal reports whether Temporal answers; nil leaves it out of /ready.
	Temporal func(ctx context.Context) error
	// Codec serves Temporal's remote codec protocol below /codec, to operators; nil
	// serves none.
	Codec http.Handler
	// StatusPages shows status pages at /status/ and badges at /badge/ to the public; nil
	// shows none.
	StatusPages http.Handler
	// LookupTXT reads TXT records, by which hosts of status pages are proved; nil proves none.
	LookupTXT func(ctx context.Context, name string) ([]string, error)
	// Sent is called when results of agents are stored, so that the workers of this process look for them at
	// once; nil is not called. RefusedResults counts those that were not, by their reason; nil counts nothing.
	Sent           func()
	RefusedResults func(reason string, n int)
	// Shares shares reads among organizations; nil does not.
	Shares rest.Shares
	// Answered is called after every request; nil is not called. The route is a
	// pattern such as /v1/checks/{id}, or "none".
	Answered func(ctx context.Context, method, route string, status int, took time.Duration)
	Log      *slog.Logger
	Now      func() time.Time
}

// StreamConfig holds the settings of the alert streams.
type StreamConfig = stream.Config

// Config holds the settings of the API.
type Config struct {
	// Version of the build, shown at GET /.
	Version string
	// PublicURL is where people reach this API, without a trailing slash.
	PublicURL string
	// SignupTier is the tier of new organizations; empty means free.
	SignupTier account.Tier
	// EnterpriseMinInterval is the smallest interval of the enterprise tier.
	EnterpriseMinInterval time.Duration
	// EnterpriseRate is how many requests a minute an organization of the
	// enterprise tier may make; 0 for any number.
	EnterpriseRate int64
	// SigningKey signs session tokens, 32 bytes or more. OlderSigningKeys
	// are still accepted.
	SigningKey       []byte
	OlderSigningKeys [][]byte
	// AddressRate is how many requests a minute one address may make to the
	// operations that need no credential and change something; 0 for any
	// number. It does not apply while private targets are open.
	AddressRate int
	// UnverifiedPerAddress and UnverifiedTotal are how many organizations that are not
	// verified may have been made from one address, and in all, within account.SignupWindow;
	// 0 for any number. They do not apply while private targets are open.
	UnverifiedPerAddress, UnverifiedTotal int
	// TrustedProxies are the proxies whose X-Forwarded-For is used.
	TrustedProxies []netip.Prefix
	// TemporalUIURL and TemporalNamespace make the links to workflows; an
	// empty URL makes none.
	TemporalUIURL     string
	TemporalNamespace string
	// TemporalUIOrigin is the origin of the Temporal UI, whose pages may call the codec
	// endpoint; empty for none.
	TemporalUIOrigin string
	// DeliverySchedule holds the waits between the attempts of a delivery, as the workers
	// have them: it is shown, not used.
	DeliverySchedule vigil.RetrySchedule
	// Streams bounds the alert streams.
	Streams StreamConfig
	// TaskDeadline bounds each piece of work that a request leaves running
	// behind it; 0 for 2 s.
	TaskDeadline time.Duration
	// WriteDeadline is how long a client may take to read a part of an answer; 0 for 2 min.
	WriteDeadline time.Duration
	// BodyDeadline is how long the body of a request may take to arrive; 0 for 10 s. Bodies
	// of operations always have 10 s for each MiB that they may have.
	BodyDeadline time.Duration
}

// Stores are what the API needs of the database: a field for each part of it, with the
// interface that is declared there. All are required; one store may be all of them. Every
// method that takes orgID returns vigil.NotFound for what belongs to another organization.
type Stores struct {
	Accounts  accounts.Store
	Checks    checks.Store
	Alerts    alerts.Store
	Backtests backtests.Store
	Apply     apply.Store
	// Loops are read when a change wakes them.
	Loops resource.LoopStore
	// Events are those of the alert streams.
	Events stream.Store
	// Rates counts the requests of organizations, for all processes together.
	Rates rest.LeaseStore
	// Repeats keeps the answers to requests that have an Idempotency-Key.
	Repeats rest.RepeatStore
	// Audit keeps the entries of requests that no transaction has stored.
	Audit AuditStore
	// Keys are the public keys that receipts are checked with.
	Keys KeyStore
	// System answers /ready.
	System SystemStore
	// Pings are what jobs report.
	Pings PingStore
	// Agents are the sessions of agents, and what they send.
	Agents agents.Store
	// Notified are the incidents that messages are about.
	Notified NotifiedStore
}

// AuditStore writes the audit log.
type AuditStore interface {
	// RecordAudit stores the audit entry of ctx, unless a transaction has stored it.
	RecordAudit(ctx context.Context) error
}

// complete reports whether no field is missing.
func (s *Stores) complete() bool {
	return !slices.Contains([]any{
		s.Accounts, s.Checks, s.Alerts, s.Backtests, s.Apply, s.Loops, s.Events, s.Rates, s.Repeats, s.Audit, s.Keys, s.System, s.Pings, s.Agents,
		s.Notified,
	}, nil)
}

// validate reports what is missing.
func (d *Deps) validate() error {
	switch {
	case !d.Stores.complete():
		return errors.New("api: every store is needed")
	case d.Loops == nil || d.Probes == nil:
		return errors.New("api: loops and probes are needed")
	case d.Channels == nil:
		return errors.New("api: channels are needed")
	case len(d.Config.SigningKey) < 32:
		return errors.New("api: the signing key needs 32 bytes or more")
	}
	if err := d.Standby.validate(); err != nil {
		return err
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		return errors.New("api: a clock is needed")
	}
	if d.Incidents == nil {
		d.Incidents = noIncidentWorkflows{}
	}
	if d.Config.SignupTier == "" {
		d.Config.SignupTier = account.TierFree
	}
	return nil
}
