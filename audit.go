package vigil

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// AuditEntry says who did what, when and from where. It holds names of members
// that were given, and never a value.
type AuditEntry struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	At    time.Time
	// Action is <resource>.<verb>, such as check.update.
	Action string
	// ResourceID is that of what was changed; zero where there is none.
	ResourceID uuid.UUID
	// UserID is whose credential it was, and KeyID which API key; a zero key
	// with a user is a session token, a zero user is somebody unknown.
	UserID, KeyID uuid.UUID
	KeyPrefix     string
	Members       []string // names of the members that a request gave
	RequestID     string
	Address       string // IP address of the caller
	UserAgent     string

	noted bool
}

// Note reports whether the entry is still to be stored, and takes it that the
// caller stores it now: what changes in several steps is one entry.
func (e *AuditEntry) Note() bool {
	if e == nil || e.noted || e.OrgID == uuid.Nil {
		return false
	}
	e.noted = true
	return true
}

type auditKey struct{}

// WithAudit makes what changes under ctx be noted in the audit log, in the same
// transaction.
func WithAudit(ctx context.Context, entry *AuditEntry) context.Context {
	return context.WithValue(ctx, auditKey{}, entry)
}

// AuditOf returns the entry of ctx, or nil.
func AuditOf(ctx context.Context) *AuditEntry {
	entry, _ := ctx.Value(auditKey{}).(*AuditEntry)
	return entry
}
