// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// sessionStore keeps the sessions of browsers.
type sessionStore interface {
	UserSessions(ctx context.Context, userID uuid.UUID, page listing.Page) ([]account.Session, int, error)
	EndSession(ctx context.Context, userID, id uuid.UUID) error
	EndSessions(ctx context.Context, userID uuid.UUID) error
}

type sessions struct {
	store sessionStore
	auth  *Authenticator
}

// sessionView is a session of the dashboard.
type sessionView struct {
	ID         uuid.UUID `json:"id" format:"uuid"`
	CreatedAt  time.Time `json:"created_at" doc:"When the user signed in."`
	LastUsedAt time.Time `json:"last_used_at" doc:"When the session was last used, to about a minute."`
	ExpiresAt  time.Time `json:"expires_at" doc:"When it ends unless it is used before: after 7 days without use, or 30 days in all."`
	Address    string    `json:"address" doc:"IP address that the user signed in from." example:"192.0.2.1"`
	UserAgent  string    `json:"user_agent" doc:"The browser that the user signed in with."`
}

func showSession(s account.Session) sessionView {
	return sessionView{
		ID:         s.ID,
		CreatedAt:  s.CreatedAt.UTC(),
		LastUsedAt: s.SeenAt.UTC(),
		ExpiresAt:  s.ExpiresAt.UTC(),
		Address:    s.Address,
		UserAgent:  s.UserAgent,
	}
}

// resourceSession names a session in errors.
const resourceSession = "session"

func (s *sessions) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/auth/sessions", ID: "list-sessions", Tag: resource.TagAccount, Scope: account.ScopeAdmin, Own: true,
		Summary: "List your sessions of the dashboard, the one used last first",
	}, func(ctx context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[sessionView], error) {
		list, total, err := s.store.UserSessions(ctx, rest.CallerOf(ctx).User.ID, in.Page())
		if err != nil {
			return nil, err
		}
		return rest.NewListing(list, total, showSession), nil
	})
	rest.Register(r, rest.Operation{
		Method:   http.MethodDelete,
		Path:     "/v1/auth/sessions/{id}",
		ID:       "end-session",
		Tag:      resource.TagAccount,
		Scope:    account.ScopeAdmin,
		Own:      true,
		Status:   http.StatusNoContent,
		Audit:    "session.end",
		Resource: resourceSession,
		Summary:  "End one of your sessions of the dashboard",
	}, func(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
		id, err := in.Parse(resourceSession)
		if err != nil {
			return nil, err
		}
		return nil, s.store.EndSession(ctx, rest.CallerOf(ctx).User.ID, id)
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: "/v1/auth/sessions", ID: "end-sessions", Tag: resource.TagAccount, Scope: account.ScopeAdmin, Own: true,
		Status: http.StatusNoContent, Audit: "account.sign_out_everywhere",
		Summary:     "Sign out everywhere",
		Description: "Ends every session of the dashboard and every session token of yours. API keys are not affected.",
	}, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		id := rest.CallerOf(ctx).User.ID
		if err := s.store.EndSessions(ctx, id); err != nil {
			return nil, err
		}
		s.auth.forgetUser(id)
		return nil, nil //nolint:nilnil // Huma's way to answer without a body
	})
}
