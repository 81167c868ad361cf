// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Members returns a page of the members of an organization, oldest first, and their
// number.
func (s *Store) Members(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]account.User, int, error) {
	var rows []UserRow
	total, err := s.db.NewSelect().Model(&rows).Where("u.org_id = ?", orgID).
		OrderExpr("u.created_at, u.id").Limit(int64(page.Limit)).Offset(int64(page.Offset)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, pg.Wrap("list members", err)
	}
	return pg.Map(rows, (*UserRow).User), int(total), nil
}

// Owners returns the owners of an organization, oldest first.
func (s *Store) Owners(ctx context.Context, orgID uuid.UUID) ([]account.User, error) {
	var rows []UserRow
	err := s.db.NewSelect().Model(&rows).Where("u.org_id = ? AND u.role = 'owner'", orgID).OrderExpr("u.created_at, u.id").Scan(ctx)
	return pg.Map(rows, (*UserRow).User), pg.Wrap("list owners", err)
}

// SetRole changes the role of a member, and withdraws the invitations that the new role may
// not make. An unknown member is a CodeNotFound error, the last owner a CodeConflict error,
// and a role beyond the rights of the credential a CodeForbidden error. It is not changed when the
// member has the role.
func (s *Store) SetRole(
	ctx context.Context, orgID, userID uuid.UUID, role account.Role, by account.Credential,
) (member account.User, changed bool, err error) {
	err = s.changeMember(ctx, orgID, userID, by, func(ctx context.Context, tx bun.Tx, user account.User, has Rights) error {
		member = user
		if changed = user.Role != role; !changed {
			return nil
		}
		if len(role.Within(user.Role.Scopes())) < len(role.Scopes()) { // it raises
			if err := has.grant(role); err != nil {
				return err
			}
		}
		if role != account.RoleOwner {
			if err := requireNoOperator(user); err != nil {
				return err
			}
			if err := requireOtherOwner(ctx, tx, user); err != nil {
				return err
			}
		}
		member.Role, member.UpdatedAt = role, s.db.Instant()
		_, err := tx.NewRaw("UPDATE users SET role = ?, updated_at = ? WHERE id = ?", string(role), member.UpdatedAt, userID).Exec(ctx)
		if err != nil || slices.Contains(role.Scopes(), account.ScopeAdmin) {
			return err
		}
		_, err = tx.NewRaw("DELETE FROM invitations WHERE invited_by = ?", userID).Exec(ctx)
		return err
	})
	return member, changed, pg.Wrap("change the role of a member", err)
}

// RemoveMember deletes a member, with the member's sessions, API keys and invitations. An
// unknown one is a CodeNotFound error, and the last owner a CodeConflict error.
func (s *Store) RemoveMember(ctx context.Context, orgID, userID uuid.UUID, by account.Credential) error {
	err := s.changeMember(ctx, orgID, userID, by, func(ctx context.Context, tx bun.Tx, user account.User, _ Rights) error {
		if err := requireNoOperator(user); err != nil {
			return err
		}
		if err := requireOtherOwner(ctx, tx, user); err != nil {
			return err
		}
		_, err := tx.NewRaw("DELETE FROM users WHERE id = ?", userID).Exec(ctx)
		return err
	})
	return pg.Wrap("remove a member", err)
}

// changeMember runs a change of a member under the lock of the organization, which
// serializes the changes of its owners.
func (s *Store) changeMember(
	ctx context.Context, orgID, userID uuid.UUID, by account.Credential, change func(context.Context, bun.Tx, account.User, Rights) error,
) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := LockOrganization(ctx, tx, orgID); err != nil {
			return err
		}
		var row UserRow
		err := tx.NewSelect().Model(&row).Where("u.id = ? AND u.org_id = ?", userID, orgID).For("NO KEY UPDATE").Scan(ctx)
		if err != nil {
			return pg.Found("member", err)
		}
		has, err := s.RequireAdmin(ctx, tx, by)
		if err != nil {
			return err
		}
		return change(ctx, tx, row.User(), has)
	})
}

// requireOtherOwner refuses a change after which an organization would have no owner.
func requireOtherOwner(ctx context.Context, tx bun.Tx, user account.User) error {
	if user.Role != account.RoleOwner {
		return nil
	}
	var others bool
	err := tx.NewRaw("SELECT EXISTS (SELECT FROM users WHERE org_id = ? AND role = 'owner' AND id <> ?)", user.OrgID, user.ID).
		Scan(ctx, &others)
	if err != nil {
		return fmt.Errorf("look for another owner: %w", err)
	}
	if !others {
		return vigil.Errorf(vigil.CodeConflict,
			"%s is the only owner of the organization. Make another member an owner first.", user.Email)
	}
	return nil
}
