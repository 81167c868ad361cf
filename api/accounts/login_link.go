// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// loginLinkStore keeps the links that sign in without a password.
type loginLinkStore interface {
	LoginLink(ctx context.Context, hash []byte) (account.User, error)
	UseLoginLink(ctx context.Context, hash []byte) (account.User, error)
}

// NewLoginLink makes the token of a link that signs in without a password, and what is
// stored of it.
func NewLoginLink() (token string, hash []byte, err error) { return newSecret() }

// LoginLinkUser returns whom a link would sign in. It does not use the link. A request
// that does not come from this machine is a CodeForbidden error, an unknown, used or
// expired link a CodeInvalid one.
func (s *Service) LoginLinkUser(ctx context.Context, token string) (account.User, error) {
	if err := s.admitLoginLink(ctx); err != nil {
		return account.User{}, err
	}
	return s.loginLinks.LoginLink(ctx, hashToken(token))
}

// UseLoginLink uses a link, and returns whose session may begin with it and the session
// version. Its errors are those of LoginLinkUser.
func (s *Service) UseLoginLink(ctx context.Context, token string) (userID uuid.UUID, version int64, err error) {
	if err := s.admitLoginLink(ctx); err != nil {
		return uuid.Nil, 0, err
	}
	user, err := s.loginLinks.UseLoginLink(rest.WithAudit(ctx, "account.login_link", nil), hashToken(token))
	if err != nil {
		return uuid.Nil, 0, err
	}
	s.Auth.forgetUser(user.ID)
	return user.ID, user.SessionVersion, nil
}

// admitLoginLink refuses other machines, and an address that tries many links.
func (s *Service) admitLoginLink(ctx context.Context) error {
	request := rest.RequestOf(ctx)
	if !request.Local {
		return vigil.Errorf(vigil.CodeForbidden,
			"The link works only in a browser on the machine that runs Vigil, at an address such as http://127.0.0.1:8080.")
	}
	if wait := s.addresses.Count(rest.Network(request.Address)); wait > 0 {
		return rest.ErrTooMany("Too many requests from this address", wait)
	}
	return nil
}
