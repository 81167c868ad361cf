// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type signupRequestRow struct {
	bun.BaseModel `bun:"table:signup_requests,alias:r"`

	Hash         []byte    `bun:"hash,pk"`
	Email        string    `bun:"email"`
	Name         string    `bun:"name"`
	Organization string    `bun:"organization"`
	ExpiresAt    time.Time `bun:"expires_at"`
}

// CreateSignupRequest stores the request of an account for account.TokenLifetime.
func (s *Store) CreateSignupRequest(ctx context.Context, hash []byte, request account.SignupRequest) error {
	_, err := s.db.NewInsert().Model(&signupRequestRow{
		Hash: hash, Email: request.Email, Name: request.Name, Organization: request.Organization,
		ExpiresAt: s.db.Instant().Add(account.TokenLifetime),
	}).Exec(ctx)
	return pg.Wrap("store the request of an account", err)
}

// SignupRequest returns the request of a token. An unknown, used or expired one is a
// CodeInvalid error.
func (s *Store) SignupRequest(ctx context.Context, hash []byte) (account.SignupRequest, error) {
	var row signupRequestRow
	err := s.db.NewSelect().Model(&row).Where("r.hash = ? AND r.expires_at > ?", hash, s.db.Instant()).Scan(ctx)
	if pg.IsNoRow(err) {
		return account.SignupRequest{}, errInvalidToken()
	}
	return account.SignupRequest{
		Email: row.Email, Name: row.Name, Organization: row.Organization, ExpiresAt: row.ExpiresAt,
	}, pg.Wrap("read the request of an account", err)
}

// UseSignupRequest makes the account of a request, with the tier and, of the user, the id,
// the hash of the password and the address of the client. The mailed address is proven. An
// unknown, used or expired token is a CodeInvalid error; an address that has an account by
// now is a CodeConflict error.
func (s *Store) UseSignupRequest(
	ctx context.Context, hash []byte, tier account.Tier, user account.User,
) (account.User, account.Organization, error) {
	request, err := s.SignupRequest(ctx, hash)
	if err != nil {
		return account.User{}, account.Organization{}, err
	}
	user.Email, user.Name, user.EmailVerified, user.Operator = request.Email, request.Name, true, false
	org := account.Organization{Name: request.Organization, Tier: tier}
	return s.createAccount(ctx, org, user, nil, func(ctx context.Context, tx bun.Tx, user account.User) error {
		if entry := audit.FromContext(ctx); entry != nil {
			entry.OrgID, entry.UserID, entry.UserName, entry.UserEmail = user.OrgID, user.ID, user.Name, user.Email
		}
		// Of two uses of a link one deletes the row.
		res, err := tx.NewRaw("DELETE FROM signup_requests WHERE hash = ?", hash).Exec(ctx)
		if err = pg.RequireAffected("request", "use the request of an account", res, err); vigil.ErrorCode(err) == vigil.CodeNotFound {
			return errInvalidToken()
		}
		return err
	})
}
