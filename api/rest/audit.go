package rest

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/google/uuid"

	"vigil"
)

// identified is an input that names a resource by its path.
type identified interface{ ResourceID() uuid.UUID }

// WithAudit returns a context under which a change is noted in the audit log as
// action.
func WithAudit(ctx context.Context, action string, in any) context.Context {
	req := RequestOf(ctx)
	entry := &vigil.AuditEntry{Action: action, RequestID: req.ID, Address: req.Address.String(), UserAgent: req.agent}
	if caller := req.Caller; caller != nil {
		entry.OrgID, entry.UserID, entry.KeyID, entry.KeyPrefix = caller.Org.ID, caller.User.ID, caller.Key.ID, caller.Key.Prefix
	}
	if in, ok := in.(identified); ok {
		entry.ResourceID = in.ResourceID()
	}
	return vigil.WithAudit(ctx, entry)
}

// AuditMembers notes which members a request gave.
func AuditMembers[V any](ctx context.Context, members map[string]V) {
	if entry := vigil.AuditOf(ctx); entry != nil {
		entry.Members = slices.Sorted(maps.Keys(members))
	}
}

// AuditResource notes the id of what a request created.
func AuditResource(ctx context.Context, id uuid.UUID) {
	if entry := vigil.AuditOf(ctx); entry != nil {
		entry.ResourceID = id
	}
}

// AuditUser notes who made a request that had no credential.
func AuditUser(ctx context.Context, user vigil.User) {
	if entry := vigil.AuditOf(ctx); entry != nil {
		entry.OrgID, entry.UserID = user.OrgID, user.ID
	}
}

// note stores the entry of a success that did not change the database. One that
// did was noted in the same transaction.
func (r *Registrar) note(ctx context.Context) {
	if err := r.Note(ctx); err != nil {
		RequestOf(ctx).Log().LogAttrs(ctx, slog.LevelError, "audit entry lost", slog.Any("error", err))
	}
}
