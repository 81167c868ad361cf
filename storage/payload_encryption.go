// SPDX-License-Identifier: Apache-2.0

package storage

import "context"

// NotePayloadEncryption records that a process encrypts what Temporal stores. It stays
// recorded when encryption is switched off.
func (s *Store) NotePayloadEncryption(ctx context.Context) error {
	_, err := s.db.NewRaw("INSERT INTO payload_encryption (since) VALUES (?) ON CONFLICT (one_row) DO NOTHING", s.instant()).Exec(ctx)
	return wrap("note the encryption of payloads", err)
}

// PayloadsEncrypted reports whether Temporal may hold encrypted payloads.
func (s *Store) PayloadsEncrypted(ctx context.Context) (bool, error) {
	encrypted, err := s.anyOf(ctx, "SELECT EXISTS (SELECT FROM payload_encryption)")
	return encrypted, wrap("read whether payloads are encrypted", err)
}
