// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// ReplaceToken stores a token that was mailed. It replaces the older token of the same
// user and purpose.
func (s *Store) ReplaceToken(ctx context.Context, token account.Token) error {
	return pg.Wrap("store a token", s.replaceToken(ctx, s.db, token))
}

func (s *Store) replaceToken(ctx context.Context, db bun.IDB, token account.Token) error {
	_, err := db.NewRaw(`INSERT INTO account_tokens (hash, purpose, user_id, email, new_email, approved, created_at, expires_at)
		VALUES (?hash, ?purpose, ?user, ?email, ?new_email, ?approved, ?now, ?expires)
		ON CONFLICT (user_id, purpose) DO UPDATE
		SET hash = excluded.hash, email = excluded.email, new_email = excluded.new_email, approved = excluded.approved,
			created_at = excluded.created_at, expires_at = excluded.expires_at`,
		pg.Named{
			"hash": token.Hash, "purpose": string(token.Purpose), "user": token.UserID, "email": token.Email, "new_email": token.NewEmail,
			"approved": token.Approved, "now": s.db.Instant(), "expires": pg.Micro(token.ExpiresAt),
		}).Exec(ctx)
	return err
}

// PendingEmail returns the address that a user has not verified yet, empty when there is
// none or its token has expired.
func (s *Store) PendingEmail(ctx context.Context, userID uuid.UUID) (string, error) {
	var email string
	err := s.db.NewRaw("SELECT email FROM account_tokens WHERE user_id = ? AND purpose = ? AND expires_at > ?",
		userID, string(account.TokenVerify), s.db.Instant()).Scan(ctx, &email)
	if pg.IsNoRow(err) {
		return "", nil
	}
	return email, pg.Wrap("read the pending address", err)
}

// VerifyEmail consumes a token: its address becomes the user's verified address, and the
// checks of the organization become permanent. With end, everything that gave access to
// the account before ends: keys, sessions, the password and pending links. It returns the
// user and the previous address. An unknown, used or expired token is a CodeInvalid error;
// an address that another account uses by now is a CodeConflict error.
func (s *Store) VerifyEmail(ctx context.Context, hash []byte, end bool) (user account.User, previous string, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var token tokenRow
		if user, token, err = s.consumeToken(ctx, tx, account.TokenVerify, hash); err != nil {
			return err
		}
		previous, user.Email = user.Email, token.Email
		if err := s.markEmailVerified(ctx, tx, &user); err != nil {
			return err
		}
		if end {
			return s.endCredentials(ctx, tx, &user, "")
		}
		return endPendingChange(ctx, tx, user.ID)
	})
	if err != nil {
		return account.User{}, "", pg.Wrap("verify an address", err)
	}
	return user, previous, nil
}

// VerificationInfo describes the account behind a verification link, without consuming
// its token. An unknown, used or expired token is a CodeInvalid error.
func (s *Store) VerificationInfo(ctx context.Context, hash []byte) (account.VerificationInfo, error) {
	var info account.VerificationInfo
	token, err := s.findToken(ctx, s.db, account.TokenVerify, hash)
	if err != nil {
		return info, pg.Wrap("read a token", err)
	}
	info.Email = token.Email
	if info.User, err = s.User(ctx, token.UserID); err != nil {
		return info, err
	}
	if info.Organization, err = s.Organization(ctx, info.User.OrgID); err != nil {
		return info, err
	}
	var rows []keyRow
	err = s.db.NewSelect().Model(&rows).Where("k.user_id = ?", token.UserID).
		OrderExpr("k.created_at DESC, k.id DESC").Limit(maxShownKeys).Scan(ctx)
	for i := range rows {
		info.Keys = append(info.Keys, rows[i].key())
	}
	return info, pg.Wrap("read the keys of a user", err)
}

// maxShownKeys bounds the keys that a verification link shows.
const maxShownKeys = 100

// Recover consumes a recovery token that was mailed to the user: it marks the address as
// verified, ends everything that gave access to the account before (keys, sessions, the
// password and pending links) and creates an API key. passwordHash becomes the password;
// empty leaves the account without one. An unknown, used or expired token, or one for an
// address that the user no longer has, is a CodeInvalid error.
func (s *Store) Recover(ctx context.Context, hash []byte, key account.NewKey, passwordHash string) (account.User, error) {
	var user account.User
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var token tokenRow
		var err error
		if user, token, err = s.consumeToken(ctx, tx, account.TokenRecover, hash); err != nil {
			return err
		}
		if user.Email != token.Email {
			return errInvalidToken()
		}
		if err := s.markEmailVerified(ctx, tx, &user); err != nil {
			return err
		}
		if err := s.endCredentials(ctx, tx, &user, passwordHash); err != nil {
			return err
		}
		// Without the plan's limit: who lost every key must get one.
		_, err = insertKey(ctx, tx, user.OrgID, user.ID, key, s.db.Instant())
		return err
	})
	return user, pg.Wrap("recover an account", err)
}

// SetPassword changes a user's password from the one with the hash previous, and ends
// every session. When the password has changed meanwhile, it is a CodeUnauthorized error.
// An unknown user is a CodeNotFound error.
func (s *Store) SetPassword(ctx context.Context, userID uuid.UUID, previous, hash string) (account.User, error) {
	var user account.User
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		if user, err = lockUser(ctx, tx, userID); err != nil {
			return err
		}
		if user.PasswordHash != previous {
			return vigil.Errorf(vigil.CodeUnauthorized, "The password was changed meanwhile: log in again.")
		}
		return s.storePassword(ctx, tx, &user, hash)
	})
	return user, pg.Wrap("change a password", err)
}

// tokenRow is what is stored of a mailed link.
type tokenRow struct {
	UserID    uuid.UUID `bun:"user_id"`
	Email     string    `bun:"email"`
	NewEmail  string    `bun:"new_email"`
	Approved  bool      `bun:"approved"`
	CreatedAt time.Time `bun:"created_at"`
}

// findToken reads a token. An unknown or expired one is a CodeInvalid error.
func (s *Store) findToken(ctx context.Context, db bun.IDB, purpose account.TokenPurpose, hash []byte) (tokenRow, error) {
	var row tokenRow
	err := db.NewRaw(`SELECT user_id, email, new_email, approved, created_at FROM account_tokens
		WHERE hash = ? AND purpose = ? AND expires_at > ?`, hash, string(purpose), s.db.Instant()).Scan(ctx, &row)
	if pg.IsNoRow(err) {
		return row, errInvalidToken()
	}
	return row, err
}

// lockToken locks the user of a token and returns both. The user is always locked before
// a token, so that two links of one user do not wait for each other.
func (s *Store) lockToken(ctx context.Context, tx bun.Tx, purpose account.TokenPurpose, hash []byte) (account.User, tokenRow, error) {
	row, err := s.findToken(ctx, tx, purpose, hash)
	if err != nil {
		return account.User{}, row, err
	}
	user, err := lockUser(ctx, tx, row.UserID)
	if err != nil {
		return account.User{}, row, err
	}
	row, err = s.findToken(ctx, tx, purpose, hash) // it may have been used meanwhile
	return user, row, err
}

// consumeToken is lockToken for a token that is deleted.
func (s *Store) consumeToken(ctx context.Context, tx bun.Tx, purpose account.TokenPurpose, hash []byte) (account.User, tokenRow, error) {
	user, row, err := s.lockToken(ctx, tx, purpose, hash)
	if err != nil {
		return user, row, err
	}
	res, err := tx.NewRaw("DELETE FROM account_tokens WHERE hash = ?", hash).Exec(ctx)
	if err != nil {
		return user, row, fmt.Errorf("use a token: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return user, row, err
	}
	return user, row, errInvalidToken() // a newer one has replaced it
}

func errInvalidToken() error {
	return vigil.Invalid("token", "is not valid: it was used, replaced by a newer one, or is older than 24 hours")
}

// lockUser reads and locks a user. It also makes the user the author of the audit entry
// of ctx: a token identifies its user.
func lockUser(ctx context.Context, tx bun.Tx, id uuid.UUID) (account.User, error) {
	var row UserRow
	if err := tx.NewSelect().Model(&row).Where("u.id = ?", id).For("NO KEY UPDATE").Scan(ctx); err != nil {
		return account.User{}, pg.Found("user", err)
	}
	if entry := audit.FromContext(ctx); entry != nil {
		entry.OrgID, entry.UserID = row.OrgID, row.ID
	}
	return row.User(), nil
}

// markEmailVerified stores the user's address as verified and makes the checks of the
// organization permanent. An address that another account uses is a CodeConflict error.
func (s *Store) markEmailVerified(ctx context.Context, tx bun.Tx, user *account.User) error {
	user.EmailVerified, user.UpdatedAt = true, s.db.Instant()
	_, err := tx.NewUpdate().Model((*UserRow)(nil)).
		Set("email = ?", user.Email).Set("email_verified = true").Set("updated_at = ?", user.UpdatedAt).
		Where("id = ?", user.ID).Exec(ctx)
	if pg.Violates(err, "users_email_key") {
		return vigil.Errorf(vigil.CodeConflict, "Another account has this email address by now.")
	}
	if err != nil {
		return fmt.Errorf("store the address: %w", err)
	}
	_, err = tx.NewRaw("UPDATE checks SET expires_at = NULL WHERE org_id = ? AND expires_at IS NOT NULL AND "+pg.NotDrill, user.OrgID).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("make the checks permanent: %w", err)
	}
	return nil
}

// storePassword stores a new password hash and raises the session version, which ends
// every session.
func (s *Store) storePassword(ctx context.Context, tx bun.Tx, user *account.User, hash string) error {
	user.PasswordHash, user.UpdatedAt = hash, s.db.Instant()
	_, err := tx.NewUpdate().Model((*UserRow)(nil)).
		Set("password_hash = ?", hash).Set("updated_at = ?", user.UpdatedAt).
		Where("id = ?", user.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the password: %w", err)
	}
	return s.raiseSessionVersion(ctx, tx, user)
}
