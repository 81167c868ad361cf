// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RenameOrganization changes the name of an organization, and nothing else: its slug and the
// addresses of its status pages stay. A credential that has ended is a CodeUnauthorized error,
// and one without the scope admin a CodeForbidden error.
func (s *Store) RenameOrganization(ctx context.Context, orgID uuid.UUID, name string, by account.Credential) (account.Organization, error) {
	var row OrgRow
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := LockOrganization(ctx, tx, orgID); err != nil {
			return err
		}
		if _, err := s.RequireAdmin(ctx, tx, by); err != nil {
			return err
		}
		err := tx.NewSelect().Model(&row).Where("o.id = ?", orgID).Scan(ctx)
		if err != nil || row.Name == name {
			return err
		}
		row.Name, row.UpdatedAt = name, s.db.Instant()
		_, err = tx.NewUpdate().Model(&row).Column("name", "updated_at").WherePK().Exec(ctx)
		return err
	})
	return row.Organization(), pg.Wrap("rename an organization", err)
}
