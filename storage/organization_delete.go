// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/changes"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	// EndsOfDeletedOrganization is for how long the ends of the incidents of a deleted
	// organization are still sent. What has not arrived by then is deleted with the rest.
	EndsOfDeletedOrganization = time.Hour
	// lateWrites is for how long requests that began before a deletion, and processes that still
	// know its credentials, may write rows that belong to the organization.
	lateWrites = time.Minute
	// checkBatch is how many checks of a deleted organization are deleted together.
	checkBatch = 100
)

// DeleteOrganization ends an organization: its members with their sessions and API keys, its
// invitations and its status pages are deleted, and nothing can be added to it any more.
// PurgeOrganizations deletes the rest. It returns the organization and its owners as they were.
//
// confirm must be the name of the organization, else the error is CodeInvalid about the member
// confirm. The organization of the platform's operator is a CodeConflict error, a credential
// that has ended CodeUnauthorized, and one without the scope admin CodeForbidden. The audit
// entry is in the log of the operator's organization, since that of the organization is
// deleted with it.
func (s *Store) DeleteOrganization(
	ctx context.Context, orgID uuid.UUID, confirm string, by account.Credential,
) (org account.Organization, owners []account.User, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := accounts.LockOrganization(ctx, tx, orgID); err != nil {
			return err
		}
		if _, err := s.RequireAdmin(ctx, tx, by); err != nil {
			return err
		}
		var row accounts.OrgRow
		if err := tx.NewSelect().Model(&row).Where("o.id = ?", orgID).Scan(ctx); err != nil {
			return err
		}
		org = row.Organization()
		if confirm != org.Name {
			return vigil.Invalid("confirm", "must be the name of the organization, which is %q", org.Name)
		}
		var members []accounts.UserRow
		if err := tx.NewSelect().Model(&members).Where("u.org_id = ?", orgID).OrderExpr("u.created_at, u.id").Scan(ctx); err != nil {
			return err
		}
		owners = nil
		for i := range members {
			member := members[i].User()
			if member.Operator {
				return vigil.Errorf(vigil.CodeConflict, "This is the organization of the platform's operator, which stays.")
			}
			if member.Role == account.RoleOwner {
				owners = append(owners, member)
			}
		}
		if err := keepForOperator(ctx, tx); err != nil {
			return err
		}
		return s.endOrganization(ctx, tx, orgID)
	})
	return org, owners, pg.Wrap("delete an organization", err)
}

// endOrganization deletes what lets anybody in, and what the public sees. The slug is free
// at once.
func (s *Store) endOrganization(ctx context.Context, tx bun.Tx, orgID uuid.UUID) error {
	_, err := tx.NewRaw("UPDATE organizations SET deleted_at = ?0, updated_at = ?0, slug = id::text WHERE id = ?1", s.db.Instant(), orgID).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("mark the organization: %w", err)
	}
	_, err = tx.NewRaw(`DELETE FROM mail_quotas WHERE split_part(name, '/', 2) = 'user'
		AND split_part(name, '/', 3) IN (SELECT id::text FROM users WHERE org_id = ?)`, orgID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete the mail quotas of the members: %w", err)
	}
	for _, table := range []string{"status_pages", "invitations", "ping_keys", "users"} {
		if _, err := tx.NewRaw("DELETE FROM ? WHERE org_id = ?", bun.Ident(table), orgID).Exec(ctx); err != nil {
			return fmt.Errorf("delete the %s: %w", table, err)
		}
	}
	return nil
}

// keepForOperator moves the audit entry of ctx to the organization of the operator. Of who made
// it, it keeps the id and the address of the account, and the key. Without an operator there is
// no entry.
func keepForOperator(ctx context.Context, tx bun.Tx) error {
	entry := audit.FromContext(ctx)
	if entry == nil {
		return nil
	}
	err := tx.NewRaw("SELECT email FROM users WHERE id = ?", entry.UserID).Scan(ctx, &entry.UserEmail)
	if err != nil && !pg.IsNoRow(err) {
		return fmt.Errorf("name the user of an audit entry: %w", err)
	}
	entry.OrgID, entry.UserName, entry.Address, entry.UserAgent = uuid.Nil, "", "", ""
	err = tx.NewRaw("SELECT org_id FROM users WHERE operator").Scan(ctx, &entry.OrgID)
	if err != nil && !pg.IsNoRow(err) {
		return fmt.Errorf("look for the operator: %w", err)
	}
	return nil
}

// PurgeOrganizations deletes what deleted organizations left, in steps, of which each is a
// transaction of its own: their checks first, as DeleteCheck does, so that who saw the
// beginning of an incident sees its end. The rest, and the organization itself, follow when
// a minute is over, the loops of the checks have ended and the messages are
// sent, or EndsOfDeletedOrganization is over, and the loops have ended. Call it again until none is left.
func (s *Store) PurgeOrganizations(ctx context.Context, now time.Time) error {
	type deletedRow struct {
		ID        uuid.UUID
		DeletedAt time.Time
	}
	deleted, err := pg.Rows[deletedRow](ctx, s.db,
		"SELECT id, deleted_at FROM organizations WHERE deleted_at IS NOT NULL ORDER BY deleted_at, id LIMIT $1", pg.DeleteBatch)
	if err != nil {
		return pg.Wrap("look for deleted organizations", err)
	}
	var errs []error
	for _, org := range deleted {
		errs = append(errs, pg.Wrap("delete what an organization left", s.purgeOrganization(ctx, org.ID, now.Sub(org.DeletedAt))))
	}
	return errors.Join(errs...)
}

func (s *Store) purgeOrganization(ctx context.Context, orgID uuid.UUID, age time.Duration) error {
	for more := true; more; {
		var err error
		if more, err = s.deleteChecksOf(ctx, orgID); err != nil {
			return err
		}
	}
	waits := "SELECT EXISTS (SELECT FROM loop_tombstones WHERE org_id = $1 AND done_at IS NULL)"
	if age < EndsOfDeletedOrganization {
		waits += " OR EXISTS (SELECT FROM deliveries WHERE org_id = $1 AND status = 'pending')"
	}
	if wait, err := pg.Row[bool](ctx, s.db, waits, orgID); err != nil || wait || age < lateWrites {
		return err
	}
	for _, step := range purgedWithOrganization() {
		if err := s.db.DeleteAll(ctx, step.table, step.condition, orgID); err != nil {
			return err
		}
	}
	_, err := s.db.NewRaw("DELETE FROM organizations WHERE id = ? AND deleted_at IS NOT NULL", orgID).Exec(ctx)
	return err
}

// deleteChecksOf deletes up to checkBatch checks of a deleted organization, and reports
// whether there were any.
func (s *Store) deleteChecksOf(ctx context.Context, orgID uuid.UUID) (found bool, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var ids []uuid.UUID
		err := tx.NewRaw("SELECT id FROM checks WHERE org_id = ? ORDER BY id LIMIT ? FOR NO KEY UPDATE", orgID, checkBatch).Scan(ctx, &ids)
		if err != nil || len(ids) == 0 {
			return err
		}
		found = true
		checks := make([]vigil.Check, len(ids))
		for i, id := range ids {
			checks[i] = vigil.Check{ID: id, OrgID: orgID}
		}
		return s.Edits(tx, orgID, account.Plan{}, account.Allowance{}).Change(ctx, changes.Deletion(checks...))
	})
	return found, err
}

// ofOrganization is what a table has of an organization, the only argument of the condition.
type ofOrganization struct{ table, condition string }

// purgedWithOrganization is what goes with an organization once its checks and their loops are
// gone, rows before what they refer to. Tombstones stay for their retention: they have ids
// only, and workers read them.
func purgedWithOrganization() []ofOrganization {
	steps := []ofOrganization{
		{"attempts", "t.delivery_id IN (SELECT id FROM deliveries WHERE org_id = ?)"},
		{"mail_quotas", "split_part(t.name, '/', 3) = ?::text"}, // see account.MailQuota,
	}
	for _, table := range []string{
		"deliveries", "delivery_places", "incidents", "unobserved_checks", "unobserved_channels", "events", "maintenance_windows",
		"status_pages", "channels", "mail_recipients", "invitations", "users", "check_creations", "check_trials", "idempotency_keys",
		"running_tests", "rate_windows", "audit_log",
	} {
		steps = append(steps, ofOrganization{table, "t.org_id = ?"})
	}
	return steps
}
