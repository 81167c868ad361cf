// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Identify returns the user of a session token, and under which session version it was
// made. A token that is not valid any more is a CodeUnauthorized error.
func (s *Server) Identify(ctx context.Context, token string) (userID uuid.UUID, version int64, err error) {
	return s.accounts.Identify(ctx, token)
}

// LoginLinkUser returns the user that a link would sign in. It does not use the link. A request
// that does not come from this machine is a CodeForbidden error, an unknown, used or
// expired link a CodeInvalid one.
func (s *Server) LoginLinkUser(ctx context.Context, token string) (account.User, error) {
	return s.accounts.LoginLinkUser(ctx, token)
}

// UseLoginLink uses a link, and returns the user that it signs in and the session
// version. Its errors are those of LoginLinkUser.
func (s *Server) UseLoginLink(ctx context.Context, token string) (userID uuid.UUID, version int64, err error) {
	return s.accounts.UseLoginLink(ctx, token)
}

// NewKey makes an API key: the key itself, which is shown once, and what is kept of it.
func NewKey(name string) (plain string, kept account.NewKey, err error) { return accounts.NewKey(name) }

// NewLoginLink makes the token of a link that signs in without a password, and what is
// stored of it.
func NewLoginLink() (token string, hash []byte, err error) { return accounts.NewLoginLink() }

// HashCheaply makes hashes of passwords that protect nothing and take 64 KiB and some 100 µs, for tests.
// Call it before the first request.
func (s *Server) HashCheaply() { s.accounts.HashCheaply() }
