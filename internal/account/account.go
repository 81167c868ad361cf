// SPDX-License-Identifier: Apache-2.0

package account

import (
	"time"

	"github.com/google/uuid"
)

// User is a person with an email address (spec section 2).
type User struct {
	ID            uuid.UUID
	OrgID         uuid.UUID
	Email         string // as entered; compared case-insensitively
	EmailVerified bool
	Name          string
	// Role in the organization; empty means RoleOwner where a user is created.
	Role Role
	// PasswordHash is an argon2id hash; empty for an account of quick sign-up, which
	// has no password.
	PasswordHash string
	// SessionVersion is part of every session token; increasing it revokes all tokens.
	SessionVersion int64
	// Operator marks the account of the platform's operator. Only the platform itself makes
	// one; no request sets or changes it.
	Operator bool
	// CreatedAddress is the IP address that the account was made from; empty: unknown.
	CreatedAddress string
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Organization owns checks, rules, channels and incidents, and is the scope of limits
// and of the alert stream.
type Organization struct {
	ID        uuid.UUID
	Name      string
	Slug      string
	Tier      Tier
	CreatedAt time.Time
	UpdatedAt time.Time
}

// APIKey is a credential for programs. Only its hash is stored.
type APIKey struct {
	ID         uuid.UUID
	OrgID      uuid.UUID
	UserID     uuid.UUID
	Name       string
	Prefix     string // the first characters, for display
	Scopes     []Scope
	CreatedAt  time.Time
	LastUsedAt *time.Time
	// ExpiresAt is when the key stops to work; nil: never.
	ExpiresAt *time.Time
}

// Expired reports whether the key has stopped to work.
func (k *APIKey) Expired(now time.Time) bool { return k.ExpiresAt != nil && !now.Before(*k.ExpiresAt) }

// NewKey is an API key to store, without the key itself.
type NewKey struct {
	Name   string
	Prefix string
	Hash   []byte // SHA-256
	// Scopes of the key; nil: all.
	Scopes []Scope
	// ExpiresAt is when the key stops to work; nil: never.
	ExpiresAt *time.Time
	// Creator must still be valid when the key is stored; zero: the operator.
	Creator Credential
}

// Credential identifies what a request was made with. The zero value is the operator.
type Credential struct {
	UserID uuid.UUID
	KeyID  uuid.UUID // zero: a session
	// SessionVersion is that of the session.
	SessionVersion int64
}

// KeyEnd is an API key that ends soon, with its owner.
type KeyEnd struct {
	Key   APIKey
	Owner User
}

// KeyEndNotice is how long before the end of an API key its owner is mailed.
const KeyEndNotice = 7 * day

// TokenPurpose is the purpose of a link in a mail.
type TokenPurpose string

// Token purposes.
const (
	TokenVerify  TokenPurpose = "verify"  // verifies the user's address
	TokenRecover TokenPurpose = "recover" // restores access to the account
	TokenChange  TokenPurpose = "change"  // allows or stops a change of the address
)

// TokenLifetime is the validity of a link in a mail.
const TokenLifetime = 24 * time.Hour

// Token is the stored part of a link in a mail. It is valid once, for one user
// and one address, until a newer one with the same purpose is created.
type Token struct {
	Purpose   TokenPurpose
	Hash      []byte // SHA-256 of the token in the link
	UserID    uuid.UUID
	Email     string // recipient of the mail
	ExpiresAt time.Time
	// NewEmail is the requested address, and Approved whether it may be confirmed, for
	// TokenChange.
	NewEmail string
	Approved bool
}

// VerificationInfo describes the account behind a verification link.
type VerificationInfo struct {
	User         User
	Organization Organization
	Email        string // that the link confirms
	// Keys of the user, newest first.
	Keys []APIKey
}

// EmailChange is a requested change of an account's address.
type EmailChange struct {
	User     User
	NewEmail string
	// Approved: the present address need not allow it any more.
	Approved    bool
	RequestedAt time.Time
}

// Tier is the pricing tier of an organization.
type Tier string

// Tiers (spec section 8).
const (
	TierFree       Tier = "free"
	TierPaid       Tier = "paid"
	TierEnterprise Tier = "enterprise"
)

// Unlimited is the value of a limit that is not enforced.
const Unlimited = 0

// Plan holds the limits of a tier.
type Plan struct {
	Tier            Tier
	RegionsPerCheck int
	PrimaryOnly     bool // only the six primary regions
	MinInterval     time.Duration
	// ExecutionsPerHour limits the total HourlyCost of the enabled checks.
	ExecutionsPerHour int64
	// ThroughputBytesPerHour limits the total HourlyBytes of the enabled checks.
	ThroughputBytesPerHour int64
	// CreationsPerHour limits new checks until the account's address is verified,
	// CreationsPerHourVerified afterwards.
	CreationsPerHour         int64
	CreationsPerHourVerified int64
	// TestsInFlight limits the tests by hand that run at the same time.
	TestsInFlight int
}

// PlanOf returns the plan of a tier, the free plan for an unknown one. minEnterprise is
// the smallest interval of the enterprise tier.
func PlanOf(tier Tier, minEnterprise time.Duration) Plan {
	switch tier {
	case TierEnterprise:
		return Plan{
			Tier: tier, RegionsPerCheck: 33, MinInterval: minEnterprise,
			ExecutionsPerHour: Unlimited, CreationsPerHour: Unlimited, CreationsPerHourVerified: Unlimited,
			TestsInFlight: 50,
		}
	case TierPaid:
		return Plan{
			Tier: tier, RegionsPerCheck: 33, MinInterval: 30 * time.Second,
			ExecutionsPerHour: 500_000, CreationsPerHour: 1000, CreationsPerHourVerified: 1000,
			TestsInFlight: 20, ThroughputBytesPerHour: 1 << 40,
		}
	case TierFree:
	}
	return Plan{
		Tier: TierFree, RegionsPerCheck: 1, PrimaryOnly: true, MinInterval: time.Minute,
		ExecutionsPerHour: 50_000, CreationsPerHour: 30, CreationsPerHourVerified: 90,
		TestsInFlight: 5, ThroughputBytesPerHour: 100 << 30,
	}
}

// Limited is a kind of resource whose number a plan limits.
type Limited string

// Limited resources, by the names that GET /v1/usage shows.
const (
	LimitChecks        Limited = "checks"
	LimitChannels      Limited = "channels"
	LimitRulesPerCheck Limited = "rules_per_check"
	LimitAPIKeys       Limited = "api_keys"
	LimitStatusPages   Limited = "status_pages"
	LimitMembers       Limited = "members" // open invitations included

	LimitMaintenanceWindows Limited = "maintenance_windows"
	LimitSubscriptions      Limited = "subscriptions"
	LimitLocations          Limited = "locations"
	LimitSubscribers        Limited = "status_page_subscribers" // of all pages, who have confirmed
)

// CountLimits returns how many resources of each kind the tiers allow: free, paid and
// enterprise, in this order.
func CountLimits() map[Limited][3]int64 {
	return map[Limited][3]int64{
		LimitChecks:        {1_000, 10_000, Unlimited},
		LimitChannels:      {20, 200, 2_000},
		LimitRulesPerCheck: {10, 50, 200},
		LimitAPIKeys:       {20, 200, 2_000},
		LimitStatusPages:   {1, 20, 200},
		LimitMembers:       {3, 50, 1_000},

		LimitMaintenanceWindows: {3, 100, 1_000},
		LimitSubscriptions:      {20, 200, 2_000},
		LimitLocations:          {1, 5, 50},
		LimitSubscribers:        {100, 5_000, 100_000},
	}
}

// Limit returns how many resources of a kind the tier allows, or Unlimited. An unknown
// tier has the limits of the free one.
func (t Tier) Limit(kind Limited) int64 {
	limits := CountLimits()[kind]
	switch t {
	case TierPaid:
		return limits[1]
	case TierEnterprise:
		return limits[2]
	case TierFree:
	}
	return limits[0]
}

// MaintenanceOfAll reports whether one maintenance window may cover every check.
func (t Tier) MaintenanceOfAll() bool { return t == TierPaid || t == TierEnterprise }

// DrillsPerDay is how many drills an organization may begin within 24 hours, or Unlimited.
func (t Tier) DrillsPerDay() int64 {
	switch t {
	case TierEnterprise:
		return Unlimited
	case TierPaid:
		return 50
	case TierFree:
	}
	return 3
}

// Allowance limits the checks that an organization may create in an hour.
type Allowance struct {
	CreationsPerHour int64 // or Unlimited
}

// Usage of an organization's plan.
type Usage struct {
	ExecutionsPerHour float64
	// Counts of the limited resources. That of LimitRulesPerCheck is of the check with
	// the most rules.
	Counts map[Limited]int64
}

// RateWindow is the length of a window of the rate limit (spec section 8).
const RateWindow = time.Minute

// RateLease is a share of an organization's requests that one process may admit
// without asking the store, until the window ends.
type RateLease struct {
	// Granted requests; 0 when none are left in the window.
	Granted int64
	// Left in the window, for any process, after this lease.
	Left int64
	// Ends is the remaining duration of the window.
	Ends time.Duration
}
