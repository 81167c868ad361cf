// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
)

// identified is an input that names a resource by its path.
type identified interface{ ResourceID() uuid.UUID }

// WithAudit returns a context under which a change is noted in the audit log as
// action.
func WithAudit(ctx context.Context, action string, in any) context.Context {
	req := RequestOf(ctx)
	entry := &audit.Entry{Action: action, RequestID: req.ID, Address: req.Address.String(), UserAgent: req.agent}
	if caller := req.Caller; caller != nil {
		entry.UserName, entry.UserEmail = caller.User.Name, caller.User.Email
		entry.OrgID, entry.UserID, entry.KeyID, entry.KeyPrefix = caller.Org.ID, caller.User.ID, caller.Key.ID, caller.Key.Prefix
	}
	entry.Members = req.givenMembers()
	if in, ok := in.(identified); ok {
		entry.ResourceID = in.ResourceID()
	}
	return audit.NewContext(ctx, entry)
}

// givenMembers returns the names of the members that a body gave, read-only ones
// included.
func (r *Request) givenMembers() []string {
	if r.body == nil {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(r.body, &members) != nil {
		return nil // no object, or no body
	}
	return slices.Sorted(maps.Keys(members))
}

// AuditResource notes the id of what a request created.
func AuditResource(ctx context.Context, id uuid.UUID) {
	if entry := audit.FromContext(ctx); entry != nil {
		entry.ResourceID = id
	}
}

// AuditUser notes who made a request that had no credential.
func AuditUser(ctx context.Context, user account.User) {
	if entry := audit.FromContext(ctx); entry != nil {
		entry.OrgID, entry.UserID, entry.UserName, entry.UserEmail = user.OrgID, user.ID, user.Name, user.Email
	}
}

// AuditPingKey notes that a request was made with a ping key.
func AuditPingKey(ctx context.Context, key account.PingKey) {
	if entry := audit.FromContext(ctx); entry != nil {
		entry.OrgID, entry.KeyID, entry.KeyPrefix = key.OrgID, key.ID, key.Prefix
	}
}

// AboutAccount returns a context under which an event is noted in the audit log of a
// user's organization, as action on that user, whether or not the caller is the user.
func AboutAccount(ctx context.Context, action string, user account.User) context.Context {
	ctx = WithAudit(ctx, action, nil)
	entry := audit.FromContext(ctx)
	entry.OrgID, entry.ResourceID = user.OrgID, user.ID
	return ctx
}

// note stores the entry of a success that did not change the database. One that
// did was noted in the same transaction.
func (r *Registrar) note(ctx context.Context) {
	if err := r.Note(ctx); err != nil {
		RequestOf(ctx).Log().LogAttrs(ctx, slog.LevelError, "audit entry lost", slog.Any("error", err))
	}
}
