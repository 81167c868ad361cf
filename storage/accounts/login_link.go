// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CreateLoginLink stores the hash of the token of a link that signs a user in, for
// account.LoginLinkLifetime.
func (s *Store) CreateLoginLink(ctx context.Context, userID uuid.UUID, hash []byte) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("INSERT INTO login_links (hash, user_id, expires_at) VALUES (?, ?, ?)",
			hash, userID, s.db.Instant().Add(account.LoginLinkLifetime)).Exec(ctx)
		return pg.Wrap("store a login link", err)
	})
}

// LoginLink returns the user of a link without using it. An unknown, used or expired link
// is a CodeInvalid error.
func (s *Store) LoginLink(ctx context.Context, hash []byte) (account.User, error) {
	var row UserRow
	err := s.db.NewSelect().Model(&row).
		Where("u.id = (SELECT user_id FROM login_links WHERE hash = ? AND expires_at > ?)", hash, s.db.Instant()).Scan(ctx)
	if pg.IsNoRow(err) {
		return account.User{}, errInvalidLoginLink()
	}
	return row.User(), pg.Wrap("read a login link", err)
}

// UseLoginLink returns the user of a link, which does not work again. An unknown, used or
// expired link is a CodeInvalid error.
func (s *Store) UseLoginLink(ctx context.Context, hash []byte) (account.User, error) {
	var user account.User
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var userID uuid.UUID
		err := tx.NewRaw("DELETE FROM login_links WHERE hash = ? AND expires_at > ? RETURNING user_id", hash, s.db.Instant()).Scan(ctx, &userID)
		if pg.IsNoRow(err) {
			return errInvalidLoginLink()
		}
		if err != nil {
			return err
		}
		user, err = lockUser(ctx, tx, userID)
		return err
	})
	return user, pg.Wrap("use a login link", err)
}

func errInvalidLoginLink() error {
	return vigil.Invalid("token", "is not valid: the link was used, or is older than 10 minutes")
}
