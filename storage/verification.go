package storage

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"vigil"
	"vigil/audit"
)

// ReplaceToken stores a token that was mailed. It replaces the older token of the same
// user and purpose.
func (s *Store) ReplaceToken(ctx context.Context, token vigil.AccountToken) error {
	_, err := s.db.NewRaw(`INSERT INTO account_tokens (hash, purpose, user_id, email, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (user_id, purpose) DO UPDATE
		SET hash = excluded.hash, email = excluded.email, created_at = excluded.created_at, expires_at = excluded.expires_at`,
		token.Hash, string(token.Purpose), token.UserID, token.Email, s.instant(), micro(token.ExpiresAt)).Exec(ctx)
	return wrap("store a token", err)
}

// PendingEmail returns the address that a user has not verified yet, empty when there is
// none or its token has expired.
func (s *Store) PendingEmail(ctx context.Context, userID uuid.UUID) (string, error) {
	var email string
	err := s.db.NewRaw("SELECT email FROM account_tokens WHERE user_id = ? AND purpose = ? AND expires_at > ?",
		userID, string(vigil.TokenVerify), s.instant()).Scan(ctx, &email)
	if isNoRow(err) {
		return "", nil
	}
	return email, wrap("read the pending address", err)
}

// VerifyEmail consumes a token: its address becomes the user's verified address, and the
// checks of the organization become permanent. It returns the user and the previous
// address. An unknown, used or expired token is a CodeInvalid error; an address that
// another account uses by now is a CodeConflict error.
func (s *Store) VerifyEmail(ctx context.Context, hash []byte) (user vigil.User, previous string, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		userID, email, err := s.consumeToken(ctx, tx, vigil.TokenVerify, hash)
		if err != nil {
			return err
		}
		if user, err = lockUser(ctx, tx, userID); err != nil {
			return err
		}
		previous, user.Email = user.Email, email
		return s.markEmailVerified(ctx, tx, &user)
	})
	if err != nil {
		return vigil.User{}, "", wrap("verify an address", err)
	}
	return user, previous, nil
}

// Recover consumes a recovery token that was mailed to the user: it marks the address as
// verified and creates an API key. When passwordHash is not empty, it also changes the
// password and ends every session. An unknown, used or expired token, or one for an
// address that the user no longer has, is a CodeInvalid error.
func (s *Store) Recover(ctx context.Context, hash []byte, key vigil.NewKey, passwordHash string) (vigil.User, error) {
	var user vigil.User
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		userID, email, err := s.consumeToken(ctx, tx, vigil.TokenRecover, hash)
		if err != nil {
			return err
		}
		if user, err = lockUser(ctx, tx, userID); err != nil {
			return err
		}
		if user.Email != email {
			return errInvalidToken()
		}
		if err := s.markEmailVerified(ctx, tx, &user); err != nil {
			return err
		}
		if passwordHash != "" {
			if err := s.storePassword(ctx, tx, &user, passwordHash); err != nil {
				return err
			}
		}
		// Without the plan's limit: who lost every key must get one.
		_, err = insertKey(ctx, tx, user.OrgID, user.ID, key, s.instant())
		return err
	})
	return user, wrap("recover an account", err)
}

// SetPassword changes a user's password and ends every session. An unknown user is a
// CodeNotFound error.
func (s *Store) SetPassword(ctx context.Context, userID uuid.UUID, hash string) (vigil.User, error) {
	var user vigil.User
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		if user, err = lockUser(ctx, tx, userID); err != nil {
			return err
		}
		return s.storePassword(ctx, tx, &user, hash)
	})
	return user, wrap("change a password", err)
}

// consumeToken deletes a token and returns its user and address. An unknown or expired
// token is a CodeInvalid error.
func (s *Store) consumeToken(ctx context.Context, tx bun.Tx, purpose vigil.TokenPurpose, hash []byte) (uuid.UUID, string, error) {
	var row struct {
		UserID uuid.UUID `bun:"user_id"`
		Email  string    `bun:"email"`
	}
	err := tx.NewRaw("DELETE FROM account_tokens WHERE hash = ? AND purpose = ? AND expires_at > ? RETURNING user_id, email",
		hash, string(purpose), s.instant()).Scan(ctx, &row)
	if isNoRow(err) {
		return uuid.UUID{}, "", errInvalidToken()
	}
	return row.UserID, row.Email, wrap("use a token", err)
}

func errInvalidToken() error {
	return vigil.Invalid("token", "is not valid: it was used, replaced by a newer one, or is older than 24 hours")
}

// lockUser reads and locks a user. It also makes the user the author of the audit entry
// of ctx: a token identifies its user.
func lockUser(ctx context.Context, tx bun.Tx, id uuid.UUID) (vigil.User, error) {
	var row userRow
	if err := tx.NewSelect().Model(&row).Where("u.id = ?", id).For("NO KEY UPDATE").Scan(ctx); err != nil {
		return vigil.User{}, found("user", err)
	}
	if entry := audit.FromContext(ctx); entry != nil {
		entry.OrgID, entry.UserID = row.OrgID, row.ID
	}
	return row.user(), nil
}

// markEmailVerified stores the user's address as verified and makes the checks of the
// organization permanent. An address that another account uses is a CodeConflict error.
func (s *Store) markEmailVerified(ctx context.Context, tx bun.Tx, user *vigil.User) error {
	user.EmailVerified, user.UpdatedAt = true, s.instant()
	_, err := tx.NewUpdate().Model((*userRow)(nil)).
		Set("email = ?", user.Email).Set("email_verified = true").Set("updated_at = ?", user.UpdatedAt).
		Where("id = ?", user.ID).Exec(ctx)
	if violates(err, "users_email_key") {
		return vigil.Errorf(vigil.CodeConflict, "Another account has this email address by now.")
	}
	if err != nil {
		return fmt.Errorf("store the address: %w", err)
	}
	_, err = tx.NewRaw("UPDATE checks SET expires_at = NULL WHERE org_id = ? AND expires_at IS NOT NULL", user.OrgID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("make the checks permanent: %w", err)
	}
	return nil
}

// storePassword stores a new password hash and raises the session version, which ends
// every session.
func (s *Store) storePassword(ctx context.Context, tx bun.Tx, user *vigil.User, hash string) error {
	user.PasswordHash, user.UpdatedAt = hash, s.instant()
	user.SessionVersion++
	_, err := tx.NewUpdate().Model((*userRow)(nil)).
		Set("password_hash = ?", hash).Set("session_version = ?", user.SessionVersion).Set("updated_at = ?", user.UpdatedAt).
		Where("id = ?", user.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the password: %w", err)
	}
	return nil
}
