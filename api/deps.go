package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/probe"
)

// Deps is everything the API stands on.
type Deps struct {
	Store    store
	Loops    loops
	Probes   probes
	Channels channels
	// Incidents are the workflows of alerting; nil where there are none, so
	// that incidents can be read and not changed.
	Incidents incidents
	// Mailer sends mail; nil sends none.
	Mailer mailer
	Config Config
	// Temporal reports whether Temporal answers; nil leaves it out of /ready.
	Temporal func(ctx context.Context) error
	// Answered hears of every request; nil hears of none. A route is a pattern
	// such as /v1/checks/{id}, so that there is a limited number of them.
	Answered func(ctx context.Context, method, route string, status int, took time.Duration)
	Log      *slog.Logger
	Now      func() time.Time
}

// Config holds the settings of the API.
type Config struct {
	// Version of the build, shown at GET /.
	Version string
	// PublicURL is where people reach this API, without a trailing slash.
	PublicURL string
	// SignupTier is the tier of new organizations; empty means free.
	SignupTier vigil.Tier
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
	// number, as where the API listens on a loopback address.
	AddressRate int
	// TrustedProxies are believed when they say whom they speak for, in
	// X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// TemporalUIURL and TemporalNamespace make the links to workflows; an
	// empty URL makes none.
	TemporalUIURL     string
	TemporalNamespace string
	// Streams bounds the alert streams.
	Streams StreamConfig
	// TaskDeadline bounds each piece of work that a request leaves running
	// behind it; 0 for 2 s.
	TaskDeadline time.Duration
}

// store is what the API asks of the database. Every method that takes orgID
// answers vigil.NotFound for what belongs to another organization.
type store interface {
	alertStore

	Ready(ctx context.Context) error

	CreateAccount(ctx context.Context, org vigil.Organization, user vigil.User, key *vigil.NewKey) (vigil.User, vigil.Organization, error)
	UserByEmail(ctx context.Context, email string) (vigil.User, error)
	User(ctx context.Context, id uuid.UUID) (vigil.User, error)
	Organization(ctx context.Context, id uuid.UUID) (vigil.Organization, error)

	ReplaceToken(ctx context.Context, token vigil.AccountToken) error
	PendingEmail(ctx context.Context, userID uuid.UUID) (string, error)
	VerifyEmail(ctx context.Context, hash []byte) (user vigil.User, previous string, err error)
	Recover(ctx context.Context, hash []byte, key vigil.NewKey, passwordHash string) (vigil.User, error)
	SetPassword(ctx context.Context, userID uuid.UUID, hash string) (vigil.User, error)
	BeginLogin(ctx context.Context, email string) (wait time.Duration, err error)
	EndLogin(ctx context.Context, email string) error

	LeaseRate(ctx context.Context, orgID uuid.UUID, want, limit int64) (vigil.RateLease, error)
	RecordAudit(ctx context.Context) error
	AuditLog(ctx context.Context, orgID uuid.UUID, page vigil.Page) ([]vigil.AuditEntry, int, error)

	CreateKey(ctx context.Context, orgID, userID uuid.UUID, key vigil.NewKey) (vigil.APIKey, error)
	Keys(ctx context.Context, orgID uuid.UUID, page vigil.Page) ([]vigil.APIKey, int, error)
	DeleteKey(ctx context.Context, orgID, id uuid.UUID) error
	KeyByHash(ctx context.Context, hash []byte) (vigil.APIKey, vigil.Organization, vigil.User, error)
	TouchKey(ctx context.Context, id uuid.UUID, at time.Time) error

	CreateCheck(ctx context.Context, check vigil.Check, plan vigil.Plan, allow vigil.Allowance) (vigil.Check, error)
	Check(ctx context.Context, orgID, id uuid.UUID) (vigil.Check, error)
	Checks(ctx context.Context, orgID uuid.UUID, page vigil.Page) ([]vigil.Check, int, error)
	UpdateCheck(ctx context.Context, orgID, id uuid.UUID, plan vigil.Plan, change func(*vigil.Check) error) (vigil.Check, error)
	DeleteCheck(ctx context.Context, orgID, id uuid.UUID) (regions []string, err error)
	Usage(ctx context.Context, orgID uuid.UUID) (vigil.Usage, error)

	Results(ctx context.Context, orgID, checkID uuid.UUID, filter vigil.ResultFilter) ([]vigil.Result, int, error)
	Uptime(ctx context.Context, orgID, checkID uuid.UUID, period time.Duration) (vigil.Uptime, error)
	Loops(ctx context.Context, orgID, checkID uuid.UUID) ([]vigil.Loop, error)
	LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
}

// loops is what the API asks of the workflows. Apply and Stop are attempts: what
// they miss is repaired by the sweep, so their errors are only logged.
type loops interface {
	// Apply starts the loop of a row, or tells it what changed.
	Apply(ctx context.Context, loop vigil.Loop) error
	// Stop ends the loop of a region that left its check at the revision, or,
	// with zero, of a check that is gone.
	Stop(ctx context.Context, checkID uuid.UUID, region string, revision int64) error
	// State asks the running loop.
	State(ctx context.Context, checkID uuid.UUID, region string) (vigil.LoopState, error)
	// Test runs a check once, now; vigil.CodeUnavailable when no worker polls
	// the region.
	Test(ctx context.Context, check vigil.Check, region string, dryRun bool) (vigil.Result, error)
}

// probes is what the API asks of the check types.
type probes interface {
	Types() []vigil.CheckType
	// Config and Metadata return zero values of the structs that document a
	// type's config and the metadata of its results, or nil.
	Config(t vigil.CheckType) any
	Metadata(t vigil.CheckType) any
	// Secrets returns the secret members of a type's config.
	Secrets(t vigil.CheckType) vigil.SecretFields
	// Parse reads a config, or says by name which member is wrong.
	Parse(t vigil.CheckType, config json.RawMessage, interval time.Duration) (probe.Probe, error)
}

// validate reports what is missing.
func (d *Deps) validate() error {
	switch {
	case d.Store == nil || d.Loops == nil || d.Probes == nil:
		return errors.New("api: a store, loops and probes are needed")
	case d.Channels == nil:
		return errors.New("api: channels are needed")
	case len(d.Config.SigningKey) < 32:
		return errors.New("api: the signing key needs 32 bytes or more")
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		return errors.New("api: a clock is needed")
	}
	if d.Incidents == nil {
		d.Incidents = nobody{}
	}
	if d.Config.SignupTier == "" {
		d.Config.SignupTier = vigil.TierFree
	}
	return nil
}
