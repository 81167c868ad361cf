// SPDX-License-Identifier: Apache-2.0

package beats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// resourcePingKey names a ping key in errors.
const resourcePingKey = "ping key"

// keyShown characters of a ping key are stored in plaintext, to recognize it.
const keyShown = len(account.PingKeyPrefix) + 8

// keyRow is a ping key as it is stored.
type keyRow struct {
	ID, OrgID            uuid.UUID
	Secret               json.RawMessage
	Prefix               string
	CreatedAt, RotatedAt time.Time
}

const keyColumns = "id, org_id, secret, prefix, created_at, rotated_at"

// key opens a row.
func (r *keyRow) key(keys *secret.Keyring) (account.PingKey, error) {
	plain, err := openToken(keys, r.Secret)
	if err != nil {
		return account.PingKey{}, fmt.Errorf("open the ping key %s: %w", r.ID, err)
	}
	return account.PingKey{
		ID: r.ID, OrgID: r.OrgID, Prefix: r.Prefix, Key: plain, CreatedAt: r.CreatedAt.UTC(), RotatedAt: r.RotatedAt.UTC(),
	}, nil
}

// newKey returns a ping key of 130 random bits and its sealed form.
func newKey(keys *secret.Keyring) (key, sealed string, err error) {
	key = account.PingKeyPrefix + strings.ToLower(rand.Text())
	sealed, err = sealToken(keys, key)
	return key, sealed, err
}

// KeyOf returns the ping key of the organization. One without is a CodeNotFound error.
func (s *Store) KeyOf(ctx context.Context, keys *secret.Keyring, orgID uuid.UUID) (account.PingKey, error) {
	row, err := pg.Row[keyRow](ctx, s.db, "SELECT "+keyColumns+" FROM ping_keys WHERE org_id = $1", orgID)
	if err != nil {
		return account.PingKey{}, pg.Found(resourcePingKey, err)
	}
	return row.key(keys)
}

// MakeKey makes the ping key of an organization, which the caller has locked. One that has a key
// is a CodeConflict error.
func MakeKey(ctx context.Context, tx bun.Tx, keys *secret.Keyring, orgID uuid.UUID) (account.PingKey, error) {
	key, sealed, err := newKey(keys)
	if err != nil {
		return account.PingKey{}, err
	}
	var row keyRow
	err = tx.NewRaw(`INSERT INTO ping_keys (id, org_id, key_hash, secret, prefix) VALUES (?id, ?org, ?hash, ?secret::jsonb, ?prefix)
		ON CONFLICT (org_id) DO NOTHING RETURNING `+keyColumns, pg.Named{
		"id": uuid.New(), "org": orgID, "hash": TokenHash(key), "secret": sealed, "prefix": key[:keyShown],
	}).Scan(ctx, &row)
	if pg.IsNoRow(err) {
		return account.PingKey{}, vigil.Errorf(vigil.CodeConflict, "The organization has a ping key; rotate it to get another one.")
	}
	if err != nil {
		return account.PingKey{}, err
	}
	return row.key(keys)
}

// RotateKeyOf gives the organization another ping key; the one before is not known any more. One
// without a key is a CodeNotFound error.
func (s *Store) RotateKeyOf(ctx context.Context, keys *secret.Keyring, orgID uuid.UUID) (account.PingKey, error) {
	key, sealed, err := newKey(keys)
	if err != nil {
		return account.PingKey{}, err
	}
	var row keyRow
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		err := tx.NewRaw(`UPDATE ping_keys SET key_hash = ?, secret = ?::jsonb, prefix = ?, rotated_at = clock_timestamp()
			WHERE org_id = ? RETURNING `+keyColumns, TokenHash(key), sealed, key[:keyShown], orgID).Scan(ctx, &row)
		return pg.Found(resourcePingKey, err)
	})
	if err != nil {
		return account.PingKey{}, pg.Wrap("rotate a ping key", err)
	}
	return row.key(keys)
}

// DeletePingKey revokes the ping key of the organization. One without is a CodeNotFound error.
func (s *Store) DeletePingKey(ctx context.Context, orgID uuid.UUID) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("DELETE FROM ping_keys WHERE org_id = ?", orgID).Exec(ctx)
		return pg.RequireAffected(resourcePingKey, "revoke a ping key", res, err)
	})
}

// slugOf is the SQL of the slug of a check c: its name in lower case, with a hyphen for what is
// between letters, digits and underscores. checks_slug_idx has the same expression.
const slugOf = `btrim(regexp_replace(lower(c.name COLLATE "C"), '[^a-z0-9_]+', '-', 'g'), '-')`

// ofSlug selects the heartbeats of an organization that have a slug.
const ofSlug = " FROM checks AS c JOIN heartbeats AS h ON h.id = c.id WHERE c.type = 'heartbeat' AND c." + pg.NotDrill + " AND " + slugOf

// LockSlug begins to make a heartbeat with a slug for a ping key, in a transaction that has locked the organization:
// others that make one wait. It reports whether the slug is free. A key that has ended
// meanwhile is a CodeNotFound error.
func LockSlug(ctx context.Context, tx bun.Tx, key account.PingKey, slug string) (free bool, err error) {
	if err := pg.LockName(ctx, tx, "slug "+key.OrgID.String()+" "+slug); err != nil {
		return false, err
	}
	var found struct{ Known, Taken bool }
	err = tx.NewRaw(`SELECT EXISTS (SELECT FROM ping_keys WHERE id = ?0 AND org_id = ?1 AND prefix = ?2) AS known,
		EXISTS (SELECT`+ofSlug+` = ?3 AND c.org_id = ?1) AS taken`, key.ID, key.OrgID, key.Prefix, slug).Scan(ctx, &found)
	if err == nil && !found.Known {
		return false, vigil.NotFound(resourcePingKey)
	}
	return !found.Taken, err
}
