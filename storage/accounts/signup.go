// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// signupLock is the advisory lock of a sign-up that counts the others.
const signupLock = 0x7669_6769_6c00_0006

// SignUp is CreateAccount for a stranger: a CodeRateLimited error when the limits of
// unverified organizations are met.
func (s *Store) SignUp(
	ctx context.Context, limits account.SignupLimits, org account.Organization, user account.User, key *account.NewKey,
) (account.User, account.Organization, error) {
	user.Operator = false
	return s.createAccount(ctx, org, user, key, func(ctx context.Context, tx bun.Tx, user account.User) error {
		return s.admitSignup(ctx, tx, user, limits)
	})
}

// admitSignup records where a user signed up, and counts the unverified ones of the last
// days. Sign-ups wait for each other, so that the limits are exact.
func (s *Store) admitSignup(ctx context.Context, tx bun.Tx, user account.User, limits account.SignupLimits) error {
	if limits.PerNetwork == 0 && limits.Total == 0 {
		return nil
	}
	now := s.db.Instant()
	since := now.Add(-account.SignupWindow)
	if _, err := tx.NewRaw("SELECT pg_advisory_xact_lock(?)", int64(signupLock)).Exec(ctx); err != nil {
		return fmt.Errorf("lock the sign-ups: %w", err)
	}
	if _, err := tx.NewRaw("DELETE FROM signups WHERE created_at <= ?", since).Exec(ctx); err != nil {
		return fmt.Errorf("delete old sign-ups: %w", err)
	}
	var here, all int
	err := tx.NewRaw(`SELECT count(*) FILTER (WHERE s.network = ?), count(*)
		FROM signups AS s JOIN users AS u ON u.id = s.user_id WHERE NOT u.email_verified`, limits.Network).Scan(ctx, &here, &all)
	if err != nil {
		return fmt.Errorf("count the sign-ups: %w", err)
	}
	if limits.PerNetwork > 0 && here >= limits.PerNetwork {
		return tooManySignups("Too many accounts were made from this address and are not verified yet. " +
			"Verify one by the link in its mail, or try again later.")
	}
	if limits.Total > 0 && all >= limits.Total {
		return tooManySignups("Too many new accounts wait for their verification, so no more are made at the moment. Try again later.")
	}
	_, err = tx.NewRaw("INSERT INTO signups (user_id, network, created_at) VALUES (?, ?, ?)", user.ID, limits.Network, now).Exec(ctx)
	if err != nil {
		return fmt.Errorf("record the sign-up: %w", err)
	}
	return nil
}

// tooManySignups is the error of a limit; it asks to wait for an hour.
func tooManySignups(sentence string) error {
	return &vigil.Error{Code: vigil.CodeRateLimited, Message: sentence, Details: map[string]any{"retry_after_seconds": 3600}}
}
