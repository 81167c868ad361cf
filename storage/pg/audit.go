// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/audit"
)

// AuditRow is an entry of the audit log as Postgres stores it.
type AuditRow struct {
	bun.BaseModel `bun:"table:audit_log,alias:a"`

	ID         uuid.UUID `bun:"id,pk,type:uuid"`
	OrgID      uuid.UUID `bun:"org_id,type:uuid"`
	At         time.Time `bun:"at"`
	Action     string    `bun:"action"`
	ResourceID uuid.UUID `bun:"resource_id,type:uuid,nullzero"`
	UserID     uuid.UUID `bun:"user_id,type:uuid,nullzero"`
	UserName   string    `bun:"user_name"`
	UserEmail  string    `bun:"user_email"`
	KeyID      uuid.UUID `bun:"key_id,type:uuid,nullzero"`
	KeyPrefix  string    `bun:"key_prefix"`
	Members    []string  `bun:"members,array"`
	RequestID  string    `bun:"request_id"`
	Address    string    `bun:"address"`
	UserAgent  string    `bun:"user_agent"`
}

// RecordAudit stores the audit entry of ctx, once. Without an entry it does nothing.
func (d *DB) RecordAudit(ctx context.Context, db bun.IDB) error {
	entry := audit.FromContext(ctx)
	if !entry.Claim() {
		return nil
	}
	entry.ID, entry.At = IDOrNew(entry.ID), d.Instant()
	row := RowOfEntry(entry)
	if row.UserID != uuid.Nil && row.UserEmail == "" {
		err := db.NewRaw("SELECT name, email FROM users WHERE id = ?", row.UserID).Scan(ctx, &row.UserName, &row.UserEmail)
		if err != nil && !IsNoRow(err) {
			return fmt.Errorf("name the user of an audit entry: %w", err)
		}
	}
	if _, err := db.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("write to the audit log: %w", err)
	}
	return nil
}

// RowOfEntry returns the row of an entry.
func RowOfEntry(entry *audit.Entry) AuditRow {
	return AuditRow{
		ID: entry.ID, OrgID: entry.OrgID, At: entry.At, Action: entry.Action, ResourceID: entry.ResourceID,
		UserID: entry.UserID, UserName: entry.UserName, UserEmail: entry.UserEmail,
		KeyID: entry.KeyID, KeyPrefix: entry.KeyPrefix, Members: append([]string{}, entry.Members...),
		RequestID: entry.RequestID, Address: entry.Address, UserAgent: entry.UserAgent,
	}
}
