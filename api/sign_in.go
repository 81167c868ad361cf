// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
)

// Identify returns whose session token it is, and under which session version it was
// made. A token that is not valid any more is a CodeUnauthorized error.
func (s *Server) Identify(ctx context.Context, token string) (userID uuid.UUID, version int64, err error) {
	return s.accounts.Identify(ctx, token)
}

// LoginLinkUser returns whom a link would sign in. It does not use the link. A request
// that does not come from this machine is a CodeForbidden error, an unknown, used or
// expired link a CodeInvalid one.
func (s *Server) LoginLinkUser(ctx context.Context, token string) (account.User, error) {
	return s.accounts.LoginLinkUser(ctx, token)
}

// UseLoginLink uses a link, and returns whose session may begin with it and the session
// version. Its errors are those of LoginLinkUser.
func (s *Server) UseLoginLink(ctx context.Context, token string) (userID uuid.UUID, version int64, err error) {
	return s.accounts.UseLoginLink(ctx, token)
}
