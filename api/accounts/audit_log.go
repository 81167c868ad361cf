// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// auditStore reads the audit log.
type auditStore interface {
	AuditLog(ctx context.Context, orgID uuid.UUID, filter listing.AuditFilter) ([]audit.Entry, listing.Extent, error)
}

type auditLog struct{ store auditStore }

// auditView is an entry of the audit log.
type auditView struct {
	ID         uuid.UUID  `json:"id" format:"uuid"`
	CreatedAt  time.Time  `json:"created_at"`
	Action     string     `json:"action" doc:"What was done, as <resource>.<verb>." example:"check.update"`
	ResourceID *uuid.UUID `json:"resource_id" format:"uuid" nullable:"true" doc:"What it was done to; null where there is no such thing."`
	UserID     *uuid.UUID `json:"user_id" format:"uuid" nullable:"true" doc:"Whose credential it was; null when there was none."`
	UserName   *string    `json:"user_name" doc:"That user's name then; null when it is not known."`
	UserEmail  *string    `json:"user_email" doc:"That user's address then; null when it is not known."`
	APIKeyID   *uuid.UUID `json:"api_key_id" format:"uuid" nullable:"true" doc:"The API key that was used; null for a session token."`
	KeyPrefix  *string    `json:"key_prefix" doc:"How that key begins; null for a session token."`
	Members    []string   `json:"members" doc:"Names of the members that were given; their values are not stored."`
	RequestID  string     `json:"request_id"`
	Address    string     `json:"address" doc:"IP address that the request came from; empty without the scope admin." example:"192.0.2.1"`
	UserAgent  string     `json:"user_agent"`
}

func showAudit(e audit.Entry) auditView {
	view := auditView{
		ID: e.ID, CreatedAt: e.At.UTC(), Action: e.Action, ResourceID: vigil.NilIfZero(e.ResourceID), UserID: vigil.NilIfZero(e.UserID),
		UserName: vigil.NilIfZero(e.UserName), UserEmail: vigil.NilIfZero(e.UserEmail),
		APIKeyID: vigil.NilIfZero(e.KeyID), Members: append([]string{}, e.Members...),
		RequestID: e.RequestID, Address: e.Address, UserAgent: e.UserAgent,
	}
	if e.KeyPrefix != "" {
		view.KeyPrefix = &e.KeyPrefix
	}
	return view
}

func (a *auditLog) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/audit-log", ID: "list-audit-log", Tag: resource.TagAccount,
		Summary:     "List the audit log, newest first",
		Description: "Each change has an entry: who made it, with which credential, when and from where.",
	}, a.list)
}

type auditInput struct {
	rest.ListQuery
	Resource   string `query:"resource" pattern:"^[a-z_]{1,40}$" doc:"Entries of one kind of resource: the part of action before the dot." example:"check"`
	ResourceID string `query:"resource_id" format:"uuid" doc:"Entries of one resource."`
	UserID     string `query:"user_id" format:"uuid" doc:"Entries of one user."`
}

func (a *auditLog) list(ctx context.Context, in *auditInput) (*rest.Listing[auditView], error) {
	who := rest.CallerOf(ctx)
	page, cursor, err := in.Open(rest.MaxPage, "audit-log", in.Resource, in.ResourceID, in.UserID)
	if err != nil {
		return nil, err
	}
	filter := listing.AuditFilter{Resource: in.Resource, Page: page}
	if filter.ResourceID, err = resource.FilterID("resource_id", in.ResourceID); err != nil {
		return nil, err
	}
	if filter.UserID, err = resource.FilterID("user_id", in.UserID); err != nil {
		return nil, err
	}
	entries, extent, err := a.store.AuditLog(ctx, who.Org.ID, filter)
	if err != nil {
		return nil, err
	}
	if who.Require(account.ScopeAdmin) != nil {
		for i := range entries {
			entries[i].Address = ""
		}
	}
	return rest.NewPage(entries, extent, cursor, showAudit), nil
}
