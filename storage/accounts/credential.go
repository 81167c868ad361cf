// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// requireCredential refuses a change by a credential that has ended, with a
// CodeUnauthorized error. API processes know credentials for some seconds longer than
// they are valid, and what one makes in that time, such as another key, must not outlive
// it. The lock of the user serializes the check with endCredentials.
func (s *Store) requireCredential(ctx context.Context, tx bun.Tx, by account.Credential) error {
	if by.UserID == uuid.Nil {
		return nil // the operator
	}
	var version int64
	err := tx.NewRaw("SELECT session_version FROM users WHERE id = ? FOR SHARE", by.UserID).Scan(ctx, &version)
	if err != nil && !pg.IsNoRow(err) {
		return fmt.Errorf("read the user of the credential: %w", err)
	}
	valid := err == nil && version == by.SessionVersion
	if err == nil && by.KeyID != uuid.Nil {
		err := tx.NewRaw("SELECT EXISTS (SELECT FROM api_keys WHERE id = ? AND user_id = ?)", by.KeyID, by.UserID).Scan(ctx, &valid)
		if err != nil {
			return fmt.Errorf("read the key of the credential: %w", err)
		}
	}
	if !valid {
		return vigil.Errorf(vigil.CodeUnauthorized, "The credential of the request has been revoked.")
	}
	return nil
}

// endCredentials ends everything that gives access to a user's account: API keys,
// sessions, pending links, the invitations of the user and the password, which passwordHash replaces; empty: by none.
// The caller holds the lock of the user. A new kind of credential must end here.
func (s *Store) endCredentials(ctx context.Context, tx bun.Tx, user *account.User, passwordHash string) error {
	for _, step := range []string{
		"DELETE FROM api_keys WHERE user_id = ?",
		"DELETE FROM account_tokens WHERE user_id = ?",
		"DELETE FROM login_links WHERE user_id = ?",
		"DELETE FROM invitations WHERE invited_by = ?", // they may have gone to who had the access
	} {
		if _, err := tx.NewRaw(step, user.ID).Exec(ctx); err != nil {
			return fmt.Errorf("end the credentials: %w", err)
		}
	}
	return s.storePassword(ctx, tx, user, passwordHash)
}
