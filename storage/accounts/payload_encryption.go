// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// NotePayloadEncryption records that a process encrypts what Temporal stores. It stays
// recorded when encryption is switched off.
func (s *Store) NotePayloadEncryption(ctx context.Context) error {
	_, err := s.db.NewRaw("INSERT INTO payload_encryption (since) VALUES (?) ON CONFLICT (one_row) DO NOTHING", s.db.Instant()).Exec(ctx)
	return pg.Wrap("note the encryption of payloads", err)
}

// PayloadsEncrypted reports whether Temporal may hold encrypted payloads.
func (s *Store) PayloadsEncrypted(ctx context.Context) (bool, error) {
	encrypted, err := pg.Row[bool](ctx, s.db, "SELECT EXISTS (SELECT FROM payload_encryption)")
	return encrypted, pg.Wrap("read whether payloads are encrypted", err)
}
