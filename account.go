package vigil

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
	// PasswordHash is an argon2id hash; empty for an account of quick sign-up, which
	// has no password.
	PasswordHash string
	// SessionVersion is part of every session token; increasing it revokes all tokens.
	SessionVersion int64
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
	CreatedAt  time.Time
	LastUsedAt *time.Time
}

// NewKey is an API key to store, without the key itself.
type NewKey struct {
	Name   string
	Prefix string
	Hash   []byte // SHA-256
}

// TokenPurpose is the purpose of a link in a mail.
type TokenPurpose string

// Token purposes.
const (
	TokenVerify  TokenPurpose = "verify"  // verifies the user's address
	TokenRecover TokenPurpose = "recover" // restores access to the account
)

// TokenLifetime is the validity of a link in a mail.
const TokenLifetime = 24 * time.Hour

// AccountToken is the stored part of a link in a mail. It is valid once, for one user
// and one address, until a newer one with the same purpose is created.
type AccountToken struct {
	Purpose   TokenPurpose
	Hash      []byte // SHA-256 of the token in the link
	UserID    uuid.UUID
	Email     string // recipient of the mail
	ExpiresAt time.Time
}
