// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RequestEmailChange stores the tokens of a requested change of a user's address. They
// replace those of an earlier request, and its pending verification. A credential that
// has ended is a CodeUnauthorized error.
func (s *Store) RequestEmailChange(ctx context.Context, by account.Credential, tokens ...account.Token) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := s.requireCredential(ctx, tx, by); err != nil {
			return err
		}
		if err := endPendingChange(ctx, tx, by.UserID); err != nil {
			return err
		}
		for _, token := range tokens {
			if err := s.replaceToken(ctx, tx, token); err != nil {
				return fmt.Errorf("store a token: %w", err)
			}
		}
		return nil
	})
	return pg.Wrap("request a change of the address", err)
}

// EmailChange describes the change behind the link that was mailed to the present
// address. An unknown, used or expired token is a CodeInvalid error.
func (s *Store) EmailChange(ctx context.Context, hash []byte) (account.EmailChange, error) {
	token, err := s.findToken(ctx, s.db, account.TokenChange, hash)
	if err != nil {
		return account.EmailChange{}, pg.Wrap("read a token", err)
	}
	user, err := s.User(ctx, token.UserID)
	return token.change(user), err
}

func (t *tokenRow) change(user account.User) account.EmailChange {
	return account.EmailChange{User: user, NewEmail: t.NewEmail, Approved: t.Approved, RequestedAt: t.CreatedAt}
}

// ApproveEmailChange allows the change behind a token, in the name of the present address,
// and stores the hash of the token that the new address confirms it with. The link can
// still stop the change. An unknown, used or expired token is a CodeInvalid error.
func (s *Store) ApproveEmailChange(ctx context.Context, hash, verify []byte) (account.EmailChange, error) {
	var change account.EmailChange
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		user, token, err := s.lockToken(ctx, tx, account.TokenChange, hash)
		if err != nil {
			return err
		}
		if token.Email != user.Email {
			return errInvalidToken()
		}
		if _, err := tx.NewRaw("UPDATE account_tokens SET approved = true WHERE hash = ?", hash).Exec(ctx); err != nil {
			return fmt.Errorf("approve: %w", err)
		}
		change = token.change(user)
		return s.replaceToken(ctx, tx, account.Token{
			Purpose: account.TokenVerify, Hash: verify, UserID: user.ID, Email: token.NewEmail, Approved: true,
			ExpiresAt: s.db.Instant().Add(account.TokenLifetime),
		})
	})
	return change, pg.Wrap("approve a change of the address", err)
}

// StopEmailChange ends the change behind a token: the link in the mail to the new address
// does not work any more. An unknown, used or expired token is a CodeInvalid error.
func (s *Store) StopEmailChange(ctx context.Context, hash []byte) (account.EmailChange, error) {
	var change account.EmailChange
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		user, token, err := s.lockToken(ctx, tx, account.TokenChange, hash)
		if err != nil {
			return err
		}
		change = token.change(user)
		return endPendingChange(ctx, tx, user.ID)
	})
	return change, pg.Wrap("stop a change of the address", err)
}

// endPendingChange deletes the tokens of a pending verification and of a pending change.
func endPendingChange(ctx context.Context, tx bun.Tx, userID uuid.UUID) error {
	_, err := tx.NewRaw("DELETE FROM account_tokens WHERE user_id = ? AND purpose IN (?, ?)",
		userID, string(account.TokenVerify), string(account.TokenChange)).Exec(ctx)
	return pg.Wrap("end a pending change", err)
}
