// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Entry is an entry of the audit log: who changed what, when and from where. It holds
// names of members that were given, and never a value.
type Entry struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	At    time.Time
	// Action is <resource>.<verb>, such as check.update.
	Action string
	// ResourceID of what was changed; zero where there is none.
	ResourceID uuid.UUID
	// UserID is the owner of the credential, KeyID the API key. A zero KeyID with a
	// user is a session token; a zero UserID is an unknown user.
	UserID, KeyID uuid.UUID
	KeyPrefix     string
	// UserName and UserEmail are those of the user at that time; empty: not known.
	UserName, UserEmail string
	Members             []string // names of the members that a request gave
	RequestID           string
	Address             string // IP address of the caller
	UserAgent           string

	claimed bool
}

// Claim reports whether the caller must store the entry. It returns true once: a
// request that changes the database in several steps makes one entry. It returns
// false for nil and for an entry without an organization.
func (e *Entry) Claim() bool {
	if e == nil || e.claimed || e.OrgID == uuid.Nil {
		return false
	}
	e.claimed = true
	return true
}

type contextKey struct{}

// NewContext returns a context that carries the entry. Changes of the database under
// it store the entry in their transaction.
func NewContext(ctx context.Context, entry *Entry) context.Context {
	return context.WithValue(ctx, contextKey{}, entry)
}

// FromContext returns the entry of ctx, or nil.
func FromContext(ctx context.Context) *Entry {
	entry, _ := ctx.Value(contextKey{}).(*Entry)
	return entry
}
