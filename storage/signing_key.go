// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// SigningKey returns the key of the platform that signs receipts. The first call of all processes
// makes it, once.
func (s *Store) SigningKey(ctx context.Context) (drills.SigningKey, error) {
	if s.Keyring == nil {
		return drills.SigningKey{}, errors.New("the store has no keys to seal the signing key with")
	}
	var sealed string
	const newest = "SELECT sealed FROM signing_keys ORDER BY created_at DESC, id LIMIT 1"
	err := s.db.NewRaw(newest).Scan(ctx, &sealed)
	if pg.IsNoRow(err) {
		err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if err := pg.LockName(ctx, tx, "signing keys"); err != nil {
				return err
			}
			err := tx.NewRaw(newest).Scan(ctx, &sealed)
			if pg.IsNoRow(err) {
				sealed, err = s.makeSigningKey(ctx, tx)
			}
			return err
		})
	}
	if err != nil {
		return drills.SigningKey{}, pg.Wrap("read the signing key", err)
	}
	text, err := s.Keyring.Open(sealed)
	if err != nil {
		return drills.SigningKey{}, fmt.Errorf("open the signing key: %w", err)
	}
	seed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(seed) != ed25519.SeedSize {
		return drills.SigningKey{}, errors.New("the signing key is damaged")
	}
	return drills.NewSigningKey(seed), nil
}

// makeSigningKey stores a new key and returns it sealed.
func (s *Store) makeSigningKey(ctx context.Context, tx bun.Tx) (sealed string, err error) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // it never fails
	key := drills.NewSigningKey(seed)
	if sealed, err = s.Keyring.Seal(base64.StdEncoding.EncodeToString(seed)); err != nil {
		return "", fmt.Errorf("seal the signing key: %w", err)
	}
	public, _ := key.Private.Public().(ed25519.PublicKey)
	_, err = tx.NewRaw("INSERT INTO signing_keys (id, public_key, sealed, created_at) VALUES (?, ?, ?, ?)",
		key.ID, []byte(public), sealed, s.db.Instant()).Exec(ctx)
	return sealed, err
}

// PublicKeys returns the public halves of all keys that have signed, the newest first.
func (s *Store) PublicKeys(ctx context.Context) ([]drills.PublicKey, error) {
	var rows []struct {
		ID        string
		PublicKey []byte
	}
	if err := s.db.NewRaw("SELECT id, public_key FROM signing_keys ORDER BY created_at DESC, id").Scan(ctx, &rows); err != nil {
		return nil, pg.Wrap("read the public keys", err)
	}
	keys := make([]drills.PublicKey, len(rows))
	for i, row := range rows {
		keys[i] = drills.NewPublicKey(row.ID, row.PublicKey)
	}
	return keys, nil
}

// resealSigningKeys seals the signing keys again, under the current key.
func (s *Store) resealSigningKeys(ctx context.Context) (changed int, err error) {
	err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var rows []struct{ ID, Sealed string }
		if err := tx.NewRaw("SELECT id, sealed FROM signing_keys ORDER BY id FOR UPDATE").Scan(ctx, &rows); err != nil {
			return err
		}
		for _, row := range rows {
			seed, err := s.Keyring.Open(row.Sealed)
			if err != nil {
				return fmt.Errorf("open the signing key %s: %w", row.ID, err)
			}
			if row.Sealed, err = s.Keyring.Seal(seed); err != nil {
				return fmt.Errorf("seal the signing key %s: %w", row.ID, err)
			}
			if _, err := tx.NewRaw("UPDATE signing_keys SET sealed = ? WHERE id = ?", row.Sealed, row.ID).Exec(ctx); err != nil {
				return err
			}
		}
		changed = len(rows)
		return nil
	})
	return changed, pg.Wrap("seal the signing keys", err)
}
