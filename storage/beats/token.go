// SPDX-License-Identifier: Apache-2.0

package beats

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// SecretFields are the secret members of the column secret of heartbeats and ping keys.
func SecretFields() secret.Fields {
	return secret.Fields{Members: map[string]secret.Fields{"token": {Secret: true}}}
}

// TokenHash is by what a token is found.
func TokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// tokenSecret is the column secret.
type tokenSecret struct {
	Token string `json:"token"`
}

// newToken returns a token of 130 random bits, its hash, and its sealed form.
func newToken(keys *secret.Keyring) (hash []byte, sealed string, err error) {
	token := strings.ToLower(rand.Text())
	sealed, err = sealToken(keys, token)
	return TokenHash(token), sealed, err
}

// sealToken returns the column secret of a token.
func sealToken(keys *secret.Keyring, token string) (string, error) {
	plain, err := json.Marshal(tokenSecret{token})
	if err != nil {
		return "", err
	}
	sealed, err := keys.SealSecrets(SecretFields(), plain)
	return string(sealed), err
}

// openToken returns the token of a column secret.
func openToken(keys *secret.Keyring, sealed json.RawMessage) (string, error) {
	plain, err := keys.OpenSecrets(SecretFields(), sealed)
	if err != nil {
		return "", err
	}
	var of tokenSecret
	err = json.Unmarshal(plain, &of)
	return of.Token, err
}

// EnsureTokens gives heartbeats that have no token one.
func EnsureTokens(ctx context.Context, tx bun.Tx, keys *secret.Keyring, checks ...*vigil.Check) error {
	for _, check := range checks {
		if check.Type != vigil.TypeHeartbeat {
			continue
		}
		hash, sealed, err := newToken(keys)
		if err != nil {
			return fmt.Errorf("make a token: %w", err)
		}
		_, err = tx.NewRaw("INSERT INTO heartbeats (id, org_id, token_hash, secret) VALUES (?, ?, ?, ?::jsonb) ON CONFLICT (id) DO NOTHING",
			check.ID, check.OrgID, hash, sealed).Exec(ctx)
		if err != nil {
			return fmt.Errorf("store a token: %w", err)
		}
	}
	return nil
}

// RotateToken gives a heartbeat of the organization another token; the one before is not known any
// more. A check that is not the organization's, or no heartbeat, is a CodeNotFound error.
func (s *Store) RotateToken(ctx context.Context, keys *secret.Keyring, orgID, checkID uuid.UUID) error {
	hash, sealed, err := newToken(keys)
	if err != nil {
		return err
	}
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw(`UPDATE heartbeats SET token_hash = ?, secret = ?::jsonb, rotated_at = clock_timestamp()
			WHERE id = ? AND org_id = ?`, hash, sealed, checkID, orgID).Exec(ctx)
		return pg.RequireAffected("heartbeat", "rotate a token", res, err)
	})
}

// Tokens returns the tokens of heartbeats of the organization, by check.
func (s *Store) Tokens(ctx context.Context, keys *secret.Keyring, orgID uuid.UUID, checks ...uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := pg.Rows[struct {
		ID     uuid.UUID
		Secret json.RawMessage
	}](ctx, s.db, "SELECT id, secret FROM heartbeats WHERE id = ANY($1::text[]::uuid[]) AND org_id = $2", pg.UUIDTexts(checks), orgID)
	if err != nil {
		return nil, pg.Wrap("read tokens", err)
	}
	tokens := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		if tokens[row.ID], err = openToken(keys, row.Secret); err != nil {
			return nil, fmt.Errorf("open the token of heartbeat %s: %w", row.ID, err)
		}
	}
	return tokens, nil
}
