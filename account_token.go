package vigil

import (
	"time"

	"github.com/google/uuid"
)

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
