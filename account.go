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
