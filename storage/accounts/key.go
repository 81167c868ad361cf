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
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type keyRow struct {
	bun.BaseModel `bun:"table:api_keys,alias:k"`

	ID         uuid.UUID  `bun:"id,pk,type:uuid"`
	OrgID      uuid.UUID  `bun:"org_id,type:uuid"`
	UserID     uuid.UUID  `bun:"user_id,type:uuid"`
	Name       string     `bun:"name"`
	Prefix     string     `bun:"prefix"`
	Hash       []byte     `bun:"hash"`
	CreatedAt  time.Time  `bun:"created_at"`
	LastUsedAt *time.Time `bun:"last_used_at"`
	Scopes     []string   `bun:"scopes,array"`
	ExpiresAt  *time.Time `bun:"expires_at"`

	User *UserRow `bun:"rel:belongs-to,join:user_id=id"`
	Org  *OrgRow  `bun:"rel:belongs-to,join:org_id=id"`
}

func (r *keyRow) key() account.APIKey {
	scopes := make([]account.Scope, len(r.Scopes))
	for i, scope := range r.Scopes {
		scopes[i] = account.Scope(scope)
	}
	return account.APIKey{
		ID: r.ID, OrgID: r.OrgID, UserID: r.UserID, Name: r.Name, Prefix: r.Prefix, Scopes: scopes,
		CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt, ExpiresAt: r.ExpiresAt,
	}
}

// CreateKey stores an API key of a user. Only the hash of its text is stored. A user
// that is not in the organization is a CodeNotFound error, more keys than the plan
// allows are a CodePlanLimit error, and a creator that has ended is a CodeUnauthorized
// error.
func (s *Store) CreateKey(ctx context.Context, orgID, userID uuid.UUID, k account.NewKey) (account.APIKey, error) {
	var member bool
	err := s.db.NewRaw("SELECT EXISTS (SELECT FROM users WHERE id = ? AND org_id = ?)", userID, orgID).Scan(ctx, &member)
	if err != nil {
		return account.APIKey{}, pg.Wrap("create API key", err)
	}
	if !member {
		return account.APIKey{}, vigil.NotFound("user")
	}
	var key account.APIKey
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := LockOrganization(ctx, tx, orgID)
		if err != nil {
			return err
		}
		if err := checkLimit(ctx, tx, tier, account.LimitAPIKeys, orgID); err != nil {
			return err
		}
		if err := s.requireCredential(ctx, tx, k.Creator); err != nil {
			return err
		}
		if key, err = insertKey(ctx, tx, orgID, userID, k, s.db.Instant()); err != nil {
			return err
		}
		if entry := audit.FromContext(ctx); entry != nil {
			entry.ResourceID = key.ID
		}
		return KeepAnswer(ctx, tx, key)
	})
	return key, pg.Wrap("create API key", err)
}

func insertKey(ctx context.Context, db bun.IDB, orgID, userID uuid.UUID, k account.NewKey, now time.Time) (account.APIKey, error) {
	row := keyRow{
		ID: uuid.New(), OrgID: orgID, UserID: userID, Name: k.Name, Prefix: k.Prefix, Hash: k.Hash, CreatedAt: now, ExpiresAt: k.ExpiresAt,
	}
	scopes := k.Scopes
	if scopes == nil {
		scopes = account.Scopes()
	}
	for _, scope := range scopes {
		row.Scopes = append(row.Scopes, string(scope))
	}
	if _, err := db.NewInsert().Model(&row).Exec(ctx); err != nil {
		return account.APIKey{}, fmt.Errorf("insert API key: %w", err)
	}
	return row.key(), nil
}

// Keys returns one page of an organization's API keys, newest first, and the total
// number of keys.
func (s *Store) Keys(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]account.APIKey, int, error) {
	var rows []keyRow
	total, err := s.db.NewSelect().Model(&rows).Where("k.org_id = ?", orgID).
		OrderExpr("k.created_at DESC, k.id DESC").Limit(int64(page.Limit)).Offset(int64(page.Offset)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, pg.Wrap("list API keys", err)
	}
	return pg.Map(rows, (*keyRow).key), int(total), nil
}

// DeleteKey revokes an API key of the organization. An unknown key is a CodeNotFound
// error.
func (s *Store) DeleteKey(ctx context.Context, orgID, id uuid.UUID) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewDelete().Model((*keyRow)(nil)).Where("id = ? AND org_id = ?", id, orgID).Exec(ctx)
		return pg.RequireAffected("API key", "delete API key", res, err)
	})
}

// KeyByHash finds an API key by the hash of its text, with its organization and user.
// An unknown hash is a CodeNotFound error.
func (s *Store) KeyByHash(ctx context.Context, hash []byte) (account.APIKey, account.Organization, account.User, error) {
	return s.keyWhere(ctx, "k.hash = ?", hash)
}

// KeyByID is KeyByHash by the key's id.
func (s *Store) KeyByID(ctx context.Context, id uuid.UUID) (account.APIKey, account.Organization, account.User, error) {
	return s.keyWhere(ctx, "k.id = ?", id)
}

func (s *Store) keyWhere(ctx context.Context, condition string, arg any) (account.APIKey, account.Organization, account.User, error) {
	var row keyRow
	err := s.db.NewSelect().Model(&row).Relation("User").Relation("Org").Where(condition, arg).Scan(ctx)
	if err != nil {
		return account.APIKey{}, account.Organization{}, account.User{}, pg.Found("API key", err)
	}
	return row.key(), row.Org.Organization(), row.User.User(), nil
}

// TouchKey records when a key was used. A time before the recorded one, or an unknown
// key, changes nothing.
func (s *Store) TouchKey(ctx context.Context, id uuid.UUID, at time.Time) error {
	_, err := s.db.NewUpdate().Model((*keyRow)(nil)).
		Set("last_used_at = greatest(last_used_at, ?)", pg.Micro(at)).Where("id = ?", id).Exec(ctx)
	return pg.Wrap("record the use of an API key", err)
}
