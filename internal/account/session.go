// SPDX-License-Identifier: Apache-2.0

package account

import (
	"time"

	"github.com/google/uuid"
)

// SessionData is the stored data of a browser's session, as JSON.
type SessionData struct {
	// Deadline is when the session ends, however much it is used.
	Deadline time.Time `json:"deadline"`
	// Values of the session by name; those of SessionUser and the names beside it
	// describe the session.
	Values map[string]string `json:"values,omitempty"`
}

// Names of the values that describe a session.
const (
	SessionUser    = "user_id"    // who is signed in
	SessionVersion = "version"    // the user's session version at that time
	SessionID      = "session_id" // by which the user sees and ends it
	SessionAddress = "address"    // of the client that signed in
	SessionAgent   = "user_agent" // likewise
)

// Session is a browser's session as its user sees it.
type Session struct {
	ID        uuid.UUID
	CreatedAt time.Time
	// SeenAt is when it was last used, to about a minute.
	SeenAt    time.Time
	ExpiresAt time.Time
	Address   string
	UserAgent string
}

// LoginLinkLifetime is the validity of a link that signs in without a password.
const LoginLinkLifetime = 10 * time.Minute
