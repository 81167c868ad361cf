// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Guard wraps pages that are served beside the API, such as those below /app: they get the
// request ids, the address of the client and the rules for private targets of the API. What
// they ask of the API under the context of a request counts as made by the client of that
// request.
func (s *Server) Guard(pages http.Handler) http.Handler { return s.outside(pages) }

// Public is Guard for what is for everybody, such as status pages at hosts of their own: an address reads it
// as often as status pages in a minute.
func (s *Server) Public(pages http.HandlerFunc) http.Handler { return s.outside(s.limited(pages)) }

// Authenticated admits the callers that the operations of the API admit, with the same
// credentials, within the rate of their organization, and answers others as the API does.
// It belongs inside of Guard; rest.CallerOf returns the caller to what is behind it.
func (s *Server) Authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		who, err := s.accounts.Auth.Identify(ctx, r.Header.Get("Authorization"), r.Header.Get("X-API-Key"))
		if err == nil {
			err = s.admit(ctx, who)
		}
		if err != nil {
			rest.WriteError(ctx, w, err)
			return
		}
		rest.RequestOf(ctx).Caller = who
		next.ServeHTTP(w, r)
	})
}

// Count counts one more request of the caller that Authenticated admitted.
func (s *Server) Count(ctx context.Context) error { return s.admit(ctx, rest.CallerOf(ctx)) }

// admit counts a request in the rate of its organization.
func (s *Server) admit(ctx context.Context, who *rest.Caller) error {
	limit := s.rateOf(who.Org.Tier)
	if limit == account.Unlimited {
		return nil
	}
	rate, err := s.limiter.Admit(ctx, who.Org.ID, limit)
	if err != nil || rate.Admitted {
		return err
	}
	return rest.ErrRate(limit, rate)
}
