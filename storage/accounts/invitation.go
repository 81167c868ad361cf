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

type invitationRow struct {
	bun.BaseModel `bun:"table:invitations,alias:i"`

	ID        uuid.UUID `bun:"id,pk,type:uuid"`
	OrgID     uuid.UUID `bun:"org_id,type:uuid"`
	Email     string    `bun:"email"`
	Role      string    `bun:"role"`
	Hash      []byte    `bun:"hash"`
	InvitedBy uuid.UUID `bun:"invited_by,type:uuid"`
	CreatedAt time.Time `bun:"created_at"`
	ExpiresAt time.Time `bun:"expires_at"`
}

func (r *invitationRow) invitation() account.Invitation {
	return account.Invitation{
		ID: r.ID, OrgID: r.OrgID, Email: r.Email, Role: account.Role(r.Role), InvitedBy: r.InvitedBy,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
	}
}

// CreateInvitation stores an invitation, with a new id and times. It replaces an earlier
// one to the same address. The address of a member is a CodeConflict error, as is, unless it
// is discreet, that of an account in another organization; such an invitation cannot be
// accepted. More members than the plan allows, open invitations included, are a CodePlanLimit error. A
// role beyond the rights of the credential is a CodeForbidden error.
func (s *Store) CreateInvitation(
	ctx context.Context, invitation account.Invitation, by account.Credential, discreet bool,
) (account.Invitation, error) {
	now := s.db.Instant()
	row := invitationRow{
		ID: uuid.New(), OrgID: invitation.OrgID, Email: invitation.Email, Role: string(invitation.Role), Hash: invitation.Hash,
		InvitedBy: invitation.InvitedBy, CreatedAt: now, ExpiresAt: now.Add(account.InvitationLifetime),
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := LockOrganization(ctx, tx, row.OrgID)
		if err != nil {
			return err
		}
		has, err := s.RequireAdmin(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := has.grant(invitation.Role); err != nil {
			return err
		}
		if err := requireNoAccount(ctx, tx, row.OrgID, row.Email, discreet); err != nil {
			return err
		}
		_, err = tx.NewRaw("DELETE FROM invitations WHERE org_id = ? AND (lower(email) = lower(?) OR expires_at <= ?)",
			row.OrgID, row.Email, now).Exec(ctx)
		if err != nil {
			return fmt.Errorf("delete earlier invitations: %w", err)
		}
		if err := checkLimit(ctx, tx, tier, account.LimitMembers, row.OrgID); err != nil {
			return err
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("insert the invitation: %w", err)
		}
		if entry := audit.FromContext(ctx); entry != nil {
			entry.ResourceID = row.ID
		}
		return KeepAnswer(ctx, tx, row.invitation())
	})
	return row.invitation(), pg.Wrap("invite a member", err)
}

func requireNoAccount(ctx context.Context, tx bun.Tx, orgID uuid.UUID, email string, discreet bool) error {
	var theirs uuid.UUID
	err := tx.NewRaw("SELECT org_id FROM users WHERE lower(email) = lower(?)", email).Scan(ctx, &theirs)
	switch {
	case pg.IsNoRow(err):
		return nil
	case err != nil:
		return fmt.Errorf("look for an account: %w", err)
	case theirs == orgID:
		return vigil.Errorf(vigil.CodeConflict, "%s is a member of the organization already.", email)
	case discreet:
		return nil
	}
	return vigil.Errorf(vigil.CodeConflict,
		"%s has an account in another organization. An address has one account: invite another address.", email)
}

// Invitations returns a page of the open invitations of an organization, newest first, and
// their number.
func (s *Store) Invitations(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]account.Invitation, int, error) {
	var rows []invitationRow
	total, err := s.db.NewSelect().Model(&rows).Where("i.org_id = ? AND i.expires_at > ?", orgID, s.db.Instant()).
		OrderExpr("i.created_at DESC, i.id").Limit(int64(page.Limit)).Offset(int64(page.Offset)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, pg.Wrap("list invitations", err)
	}
	return pg.Map(rows, (*invitationRow).invitation), int(total), nil
}

// DeleteInvitation revokes an invitation; an unknown one is a CodeNotFound error.
func (s *Store) DeleteInvitation(ctx context.Context, orgID, id uuid.UUID) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("DELETE FROM invitations WHERE id = ? AND org_id = ?", id, orgID).Exec(ctx)
		return pg.RequireAffected("invitation", "revoke an invitation", res, err)
	})
}

// InvitationByHash returns the open invitation of a token with its organization. An
// unknown, used or expired token is a CodeInvalid error.
func (s *Store) InvitationByHash(ctx context.Context, hash []byte) (account.Invitation, account.Organization, error) {
	row, err := s.findInvitation(ctx, s.db, hash)
	if err != nil {
		return account.Invitation{}, account.Organization{}, pg.Wrap("read an invitation", err)
	}
	org, err := s.Organization(ctx, row.OrgID)
	return row.invitation(), org, err
}

func (s *Store) findInvitation(ctx context.Context, db bun.IDB, hash []byte) (invitationRow, error) {
	var row invitationRow
	err := db.NewSelect().Model(&row).Where("i.hash = ? AND i.expires_at > ?", hash, s.db.Instant()).Scan(ctx)
	if pg.IsNoRow(err) {
		return row, vigil.Invalid("token", "is not valid: the invitation was used, revoked, replaced by a newer one, or is older than 7 days")
	}
	return row, err
}

// AcceptInvitation uses an invitation: the user, with a name and the hash of a password,
// becomes a member with the invited, and so proven, address. An unknown, used or expired
// token is a CodeInvalid error; an address that has an account by now is a CodeConflict
// error.
func (s *Store) AcceptInvitation(ctx context.Context, hash []byte, user account.User) (account.User, account.Organization, error) {
	var org account.Organization
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		row, err := s.findInvitation(ctx, tx, hash)
		if err != nil {
			return err
		}
		if _, err := LockOrganization(ctx, tx, row.OrgID); err != nil {
			return err
		}
		if row, err = s.findInvitation(ctx, tx, hash); err != nil { // it may have been used meanwhile
			return err
		}
		if _, err := tx.NewRaw("DELETE FROM invitations WHERE id = ?", row.ID).Exec(ctx); err != nil {
			return fmt.Errorf("use the invitation: %w", err)
		}
		now := s.db.Instant()
		user.ID, user.OrgID, user.Email, user.EmailVerified, user.Role = pg.IDOrNew(user.ID), row.OrgID, row.Email, true, account.Role(row.Role)
		user.CreatedAt, user.UpdatedAt, user.Operator = now, now, false
		if err := insertUser(ctx, tx, user); err != nil {
			return err
		}
		if entry := audit.FromContext(ctx); entry != nil {
			entry.OrgID, entry.UserID, entry.ResourceID = user.OrgID, user.ID, row.ID
		}
		if err := s.markEmailVerified(ctx, tx, &user); err != nil {
			return err
		}
		var found OrgRow
		err = tx.NewSelect().Model(&found).Where("o.id = ?", row.OrgID).Scan(ctx)
		org = found.Organization()
		return err
	})
	return user, org, pg.Wrap("accept an invitation", err)
}
