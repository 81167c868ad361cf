// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CheckRecovery returns nil when a recovery token could be used now, without consuming
// it, so that the costly hash of a password is made for real tokens only. An unknown,
// used or expired token is a CodeInvalid error.
func (s *Store) CheckRecovery(ctx context.Context, hash []byte) error {
	var known bool
	err := s.db.NewRaw("SELECT EXISTS (SELECT FROM account_tokens WHERE hash = ? AND purpose = ? AND expires_at > ?)",
		hash, string(account.TokenRecover), s.db.Instant()).Scan(ctx, &known)
	if err != nil {
		return pg.Wrap("read a token", err)
	}
	if !known {
		return errInvalidToken()
	}
	return nil
}
