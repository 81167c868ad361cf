// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// DeletedUser is the name that the entries of the audit log show in place of that of a user
// whose account was deleted by its owner. They keep the id.
const DeletedUser = "Deleted user"

// DeleteAccount deletes the account of a user: sessions, API keys, links and invitations end, and
// the agreement of its address to get mail of the organization. What the user made stays. The
// audit entry of ctx keeps the address; earlier entries lose name and address.
//
// The only owner of an organization is a CodeConflict error that says what to do, as is the
// platform's operator. A credential that has ended is CodeUnauthorized.
func (s *Store) DeleteAccount(ctx context.Context, orgID, userID uuid.UUID, by account.Credential) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := LockOrganization(ctx, tx, orgID); err != nil {
			return err
		}
		if err := s.requireCredential(ctx, tx, by); err != nil {
			return err
		}
		user, err := lockUser(ctx, tx, userID)
		if err != nil {
			return err
		}
		if err := requireNoOperator(user); err != nil {
			return err
		}
		if err := requireLeaver(ctx, tx, user); err != nil {
			return err
		}
		if entry := audit.FromContext(ctx); entry != nil {
			entry.UserName, entry.UserEmail = DeletedUser, user.Email
		}
		return deleteAccount(ctx, tx, user)
	})
	return pg.Wrap("delete an account", err)
}

// requireLeaver refuses the deletion of the only owner.
func requireLeaver(ctx context.Context, tx bun.Tx, user account.User) error {
	var members, owners int
	err := tx.NewRaw("SELECT count(*), count(*) FILTER (WHERE role = 'owner') FROM users WHERE org_id = ? AND id <> ?", user.OrgID, user.ID).
		Scan(ctx, &members, &owners)
	switch {
	case err != nil:
		return fmt.Errorf("look for other members: %w", err)
	case user.Role != account.RoleOwner || owners > 0:
		return nil
	case members > 0:
		return vigil.Errorf(vigil.CodeConflict, "You are the only owner of the organization, which has other members. "+
			"Make another member an owner first, or delete the organization, which deletes the accounts of all its members.")
	}
	return vigil.Errorf(vigil.CodeConflict,
		"You are the only member of the organization. Delete the organization: that deletes your account with everything in it.")
}

// deleteAccount deletes a user whose lock the caller holds, and what names the user.
func deleteAccount(ctx context.Context, tx bun.Tx, user account.User) error {
	for _, step := range []struct{ what, statement string }{
		{"forget the failed log-ins", "DELETE FROM login_attempts WHERE address = lower(?2)"},
		{"forget the mail quotas", "DELETE FROM mail_quotas WHERE split_part(name, '/', 2) = 'user' AND split_part(name, '/', 3) = ?0::text"},
		// One who has unsubscribed stays so.
		{"forget the recipient", "DELETE FROM mail_recipients WHERE org_id = ?1 AND address = lower(?2) AND unsubscribed_at IS NULL"},
		{
			"forget who acted",
			"UPDATE audit_log SET user_name = ?3, user_email = '' WHERE org_id = ?1 AND user_id = ?0",
		},
		{"delete the user", "DELETE FROM users WHERE id = ?0"},
	} {
		if _, err := tx.NewRaw(step.statement, user.ID, user.OrgID, user.Email, DeletedUser).Exec(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}
