// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// OrgRow is an organization as Postgres stores it.
type OrgRow struct {
	bun.BaseModel `bun:"table:organizations,alias:o"`

	ID        uuid.UUID `bun:"id,pk,type:uuid"`
	Name      string    `bun:"name"`
	Slug      string    `bun:"slug"`
	Tier      string    `bun:"tier"`
	CreatedAt time.Time `bun:"created_at"`
	UpdatedAt time.Time `bun:"updated_at"`
}

// Organization returns the organization of a row.
func (r *OrgRow) Organization() account.Organization {
	return account.Organization{
		ID: r.ID, Name: r.Name, Slug: r.Slug, Tier: account.Tier(r.Tier),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// UserRow is a user as Postgres stores it.
type UserRow struct {
	bun.BaseModel `bun:"table:users,alias:u"`

	ID             uuid.UUID `bun:"id,pk,type:uuid"`
	OrgID          uuid.UUID `bun:"org_id,type:uuid"`
	Email          string    `bun:"email"`
	EmailVerified  bool      `bun:"email_verified"`
	Name           string    `bun:"name"`
	Role           string    `bun:"role"`
	PasswordHash   string    `bun:"password_hash"`
	SessionVersion int64     `bun:"session_version"`
	Operator       bool      `bun:"operator"`
	CreatedAddress string    `bun:"created_address"`
	CreatedAt      time.Time `bun:"created_at"`
	UpdatedAt      time.Time `bun:"updated_at"`
}

// User returns the user of a row.
func (r *UserRow) User() account.User {
	return account.User{
		ID: r.ID, OrgID: r.OrgID, Email: r.Email, EmailVerified: r.EmailVerified, Name: r.Name, Role: account.Role(r.Role),
		PasswordHash: r.PasswordHash, SessionVersion: r.SessionVersion, Operator: r.Operator, CreatedAddress: r.CreatedAddress,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// CreateAccount stores a new organization, its first user and, when key is not
// nil, an API key in one transaction. It fills in zero ids and times and derives a
// unique slug from the organization's name. An email address that is already in
// use (compared without case) is a CodeConflict error.
func (s *Store) CreateAccount(
	ctx context.Context, org account.Organization, user account.User, key *account.NewKey,
) (account.User, account.Organization, error) {
	user.Operator = false
	return s.createAccount(ctx, org, user, key, nil)
}

// createAccount is CreateAccount with a check in its transaction that may refuse; nil: none.
func (s *Store) createAccount(
	ctx context.Context,
	org account.Organization,
	user account.User,
	key *account.NewKey,
	admit func(context.Context, bun.Tx, account.User) error,
) (account.User, account.Organization, error) {
	now := s.db.Instant()
	org.ID, user.ID = pg.IDOrNew(org.ID), pg.IDOrNew(user.ID)
	user.OrgID, user.Role = org.ID, cmp.Or(user.Role, account.RoleOwner)
	org.CreatedAt, org.UpdatedAt = pg.TimeOrDefault(org.CreatedAt, now), pg.TimeOrDefault(org.UpdatedAt, now)
	user.CreatedAt, user.UpdatedAt = pg.TimeOrDefault(user.CreatedAt, now), pg.TimeOrDefault(user.UpdatedAt, now)
	if org.Tier == "" {
		org.Tier = account.TierFree
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var err error
		if org.Slug, err = insertOrganization(ctx, tx, org); err != nil {
			return err
		}
		if err := insertUser(ctx, tx, user); err != nil {
			return err
		}
		if admit != nil {
			if err := admit(ctx, tx, user); err != nil {
				return err
			}
		}
		if key == nil {
			return nil
		}
		_, err = insertKey(ctx, tx, org.ID, user.ID, *key, now)
		return err
	})
	if err != nil {
		return account.User{}, account.Organization{}, pg.Wrap("create account", err)
	}
	return user, org, nil
}

// insertOrganization stores the organization under the first free slug and
// returns that slug. After ten taken slugs it gives up with an error.
func insertOrganization(ctx context.Context, tx bun.Tx, org account.Organization) (string, error) {
	base := slugOf(org.Slug)
	if org.Slug == "" {
		base = slugOf(org.Name)
	}
	slug := base
	for range 10 {
		res, err := tx.NewInsert().Model(&OrgRow{
			ID: org.ID, Name: org.Name, Slug: slug, Tier: string(org.Tier),
			CreatedAt: org.CreatedAt, UpdatedAt: org.UpdatedAt,
		}).On("CONFLICT (slug) DO NOTHING").Exec(ctx)
		if err != nil {
			return "", fmt.Errorf("insert organization: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return slug, err
		}
		suffix := make([]byte, 3)
		if _, err := rand.Read(suffix); err != nil {
			return "", fmt.Errorf("choose a slug: %w", err)
		}
		slug = base + "-" + hex.EncodeToString(suffix)
	}
	return "", errors.New("no free slug found")
}

func insertUser(ctx context.Context, tx bun.Tx, user account.User) error {
	_, err := tx.NewInsert().Model(&UserRow{
		ID: user.ID, OrgID: user.OrgID, Email: user.Email, EmailVerified: user.EmailVerified, Name: user.Name, Role: string(user.Role),
		PasswordHash: user.PasswordHash, SessionVersion: user.SessionVersion, Operator: user.Operator, CreatedAddress: user.CreatedAddress,
		CreatedAt: user.CreatedAt, UpdatedAt: user.UpdatedAt,
	}).Exec(ctx)
	if pg.Violates(err, "users_operator_key") {
		return vigil.Errorf(vigil.CodeConflict, "There is an account of the operator already.")
	}
	if pg.Violates(err, "users_email_key") {
		return vigil.Errorf(vigil.CodeConflict, "An account with this email address exists already.")
	}
	if err != nil {
		return fmt.Errorf("insert user: %w", err)
	}
	return nil
}

// UserByEmail finds a user by email address, compared without case. An unknown
// address is a CodeNotFound error.
func (s *Store) UserByEmail(ctx context.Context, email string) (account.User, error) {
	var row UserRow
	err := s.db.NewSelect().Model(&row).Where("lower(u.email) = lower(?)", email).Scan(ctx)
	return row.User(), pg.Found("user", err)
}

// User finds a user by id. An unknown id is a CodeNotFound error.
func (s *Store) User(ctx context.Context, id uuid.UUID) (account.User, error) {
	var row UserRow
	err := s.db.NewSelect().Model(&row).Where("u.id = ?", id).Scan(ctx)
	return row.User(), pg.Found("user", err)
}

// Organization finds an organization by id. An unknown id is a CodeNotFound error.
func (s *Store) Organization(ctx context.Context, id uuid.UUID) (account.Organization, error) {
	var row OrgRow
	err := s.db.NewSelect().Model(&row).Where("o.id = ?", id).Scan(ctx)
	return row.Organization(), pg.Found("organization", err)
}

// SetTier changes the plan of an organization. Existing checks that exceed the new
// plan keep running; its limits apply when one of them is changed. An unknown
// organization is a CodeNotFound error.
func (s *Store) SetTier(ctx context.Context, orgID uuid.UUID, tier account.Tier) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewUpdate().Model((*OrgRow)(nil)).
			Set("tier = ?", string(tier)).Set("updated_at = ?", s.db.Instant()).Where("id = ?", orgID).Exec(ctx)
		return pg.RequireAffected("organization", "set tier", res, err)
	})
}

const maxSlug = 48 // bytes

// slugOf turns a name into lower-case ASCII words joined by hyphens. A name without
// ASCII letters or digits becomes "organization".
func slugOf(name string) string {
	var slug strings.Builder
	for _, r := range strings.ToLower(name) {
		if slug.Len() >= maxSlug {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			slug.WriteRune(r)
		case slug.Len() > 0 && !strings.HasSuffix(slug.String(), "-"):
			slug.WriteByte('-')
		}
	}
	if out := strings.Trim(slug.String(), "-"); out != "" {
		return out
	}
	return "organization"
}

// HasVerifiedEmail is an SQL condition: the organization, its only argument, has a
// user with a verified address.
const HasVerifiedEmail = "EXISTS (SELECT FROM users AS proven WHERE proven.org_id = ? AND proven.email_verified)"

// Verified reports whether a user of an organization has a verified address.
func (s *Store) Verified(ctx context.Context, orgID uuid.UUID) (bool, error) {
	verified, err := pg.Row[bool](ctx, s.db, "SELECT EXISTS (SELECT FROM users WHERE org_id = $1 AND email_verified)", orgID)
	return verified, pg.Wrap("look for a verified address", err)
}

// Emails returns the verified addresses of an organization's owners, or all of their
// addresses when none is verified, so that a notice always has a recipient.
func (s *Store) Emails(ctx context.Context, orgID uuid.UUID) ([]string, error) {
	var emails []string
	err := s.db.NewSelect().Model((*UserRow)(nil)).Column("email").
		Where("org_id = ? AND role = 'owner'", orgID).
		Where("email_verified OR NOT EXISTS (SELECT FROM users AS o WHERE o.org_id = ? AND o.role = 'owner' AND o.email_verified)", orgID).
		OrderExpr("created_at, id").Scan(ctx, &emails)
	return emails, pg.Wrap("read the addresses of an organization", err)
}
