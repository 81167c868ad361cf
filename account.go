package vigil

import (
	"time"

	"github.com/google/uuid"
)

// User is a person with an email address (spec section 2).
type User struct {
	ID            uuid.UUID
	OrgID         uuid.UUID
	Email         string // as given; compared case-insensitively
	EmailVerified bool
	Name          string
	// PasswordHash is an argon2id hash; empty for an account made by quick
	// sign-up, which has no password.
	PasswordHash string
	// SessionVersion is carried by every token; raising it ends them all.
	SessionVersion int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Organization is the scope of everything else: checks, rules, channels,
// incidents, limits and the alert stream.
type Organization struct {
	ID        uuid.UUID
	Name      string
	Slug      string
	Tier      Tier
	CreatedAt time.Time
	UpdatedAt time.Time
}

// APIKey is a credential for programs. Only a hash of it is kept.
type APIKey struct {
	ID         uuid.UUID
	OrgID      uuid.UUID
	UserID     uuid.UUID
	Name       string
	Prefix     string // the first characters, to tell keys apart
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// NewKey is an API key to be stored: its hash, never the key.
type NewKey struct {
	Name   string
	Prefix string
	Hash   []byte // SHA-256
}

// TokenPurpose is what a link in a mail is good for.
type TokenPurpose string

// The purposes.
const (
	TokenVerify  TokenPurpose = "verify"  // proves that an address is the user's
	TokenRecover TokenPurpose = "recover" // gives back access to the account
)

// TokenLifetime is how long a link in a mail works.
const TokenLifetime = 24 * time.Hour

// AccountToken is what is kept of a link that was mailed: good once, for one
// user and one address. A newer one of the same purpose ends the older.
type AccountToken struct {
	Purpose   TokenPurpose
	Hash      []byte // SHA-256 of what the link carries
	UserID    uuid.UUID
	Email     string // the address that it was sent to
	ExpiresAt time.Time
}
