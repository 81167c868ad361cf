// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// CreateLoginLink stores the hash of the token of a link that signs a user in, for
// account.LoginLinkLifetime.
func (s *Store) CreateLoginLink(ctx context.Context, userID uuid.UUID, hash []byte) error {
	return s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("INSERT INTO login_links (hash, user_id, expires_at) VALUES (?, ?, ?)",
			hash, userID, s.instant().Add(account.LoginLinkLifetime)).Exec(ctx)
		return wrap("store a login link", err)
	})
}

// LoginLink returns the user of a link without using it. An unknown, used or expired link
// is a CodeInvalid error.
func (s *Store) LoginLink(ctx context.Context, hash []byte) (account.User, error) {
	var row userRow
	err := s.db.NewSelect().Model(&row).
		Where("u.id = (SELECT user_id FROM login_links WHERE hash = ? AND expires_at > ?)", hash, s.instant()).Scan(ctx)
	if isNoRow(err) {
		return account.User{}, errInvalidLoginLink()
	}
	return row.user(), wrap("read a login link", err)
}

// UseLoginLink returns the user of a link, which does not work again. An unknown, used or
// expired link is a CodeInvalid error.
func (s *Store) UseLoginLink(ctx context.Context, hash []byte) (account.User, error) {
	var user account.User
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var userID uuid.UUID
		err := tx.NewRaw("DELETE FROM login_links WHERE hash = ? AND expires_at > ? RETURNING user_id", hash, s.instant()).Scan(ctx, &userID)
		if isNoRow(err) {
			return errInvalidLoginLink()
		}
		if err != nil {
			return err
		}
		user, err = lockUser(ctx, tx, userID)
		return err
	})
	return user, wrap("use a login link", err)
}

func errInvalidLoginLink() error {
	return vigil.Invalid("token", "is not valid: the link was used, or is older than 10 minutes")
}
