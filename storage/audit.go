// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/audit"
)

type auditRow struct {
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

// recordAudit stores the audit entry of ctx, once. Without an entry it does nothing.
func (s *Store) recordAudit(ctx context.Context, db bun.IDB) error {
	entry := audit.FromContext(ctx)
	if !entry.Claim() {
		return nil
	}
	entry.ID, entry.At = idOrNew(entry.ID), s.instant()
	row := rowOfEntry(entry)
	if row.UserID != uuid.Nil && row.UserEmail == "" {
		err := db.NewRaw("SELECT name, email FROM users WHERE id = ?", row.UserID).Scan(ctx, &row.UserName, &row.UserEmail)
		if err != nil && !isNoRow(err) {
			return fmt.Errorf("name the user of an audit entry: %w", err)
		}
	}
	if _, err := db.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("write to the audit log: %w", err)
	}
	return nil
}

func rowOfEntry(entry *audit.Entry) auditRow {
	return auditRow{
		ID: entry.ID, OrgID: entry.OrgID, At: entry.At, Action: entry.Action, ResourceID: entry.ResourceID,
		UserID: entry.UserID, UserName: entry.UserName, UserEmail: entry.UserEmail,
		KeyID: entry.KeyID, KeyPrefix: entry.KeyPrefix, Members: append([]string{}, entry.Members...),
		RequestID: entry.RequestID, Address: entry.Address, UserAgent: entry.UserAgent,
	}
}

// RecordAudit stores the audit entry of ctx unless a database change under ctx has
// already stored it. It is for audited actions that change nothing in the database.
func (s *Store) RecordAudit(ctx context.Context) error {
	return wrap("write to the audit log", s.recordAudit(ctx, s.db))
}

// AuditLog returns a page of an organization's audit entries, newest first, and how many
// the filter selects.
func (s *Store) AuditLog(ctx context.Context, orgID uuid.UUID, filter vigil.AuditFilter) ([]audit.Entry, vigil.Extent, error) {
	rows, extent, err := smallRows[auditRow]{
		what: "the audit log", alias: "a", order: newest("at"),
		selected: func(query *bun.SelectQuery) *bun.SelectQuery {
			query = query.Where("a.org_id = ?", orgID)
			if filter.Resource != "" {
				query = query.Where("split_part(a.action, '.', 1) = ?", filter.Resource)
			}
			if filter.ResourceID != uuid.Nil {
				query = query.Where("a.resource_id = ?", filter.ResourceID)
			}
			if filter.UserID != uuid.Nil {
				query = query.Where("a.user_id = ?", filter.UserID)
			}
			return query
		},
		position: func(r *auditRow) vigil.PagePosition { return timePosition(r.At, r.ID) },
	}.page(ctx, s, filter.Page)
	if err != nil {
		return nil, vigil.Extent{}, err
	}
	entries := make([]audit.Entry, len(rows))
	for i, row := range rows {
		entries[i] = audit.Entry{
			ID: row.ID, OrgID: row.OrgID, At: row.At, Action: row.Action, ResourceID: row.ResourceID,
			UserID: row.UserID, UserName: row.UserName, UserEmail: row.UserEmail,
			KeyID: row.KeyID, KeyPrefix: row.KeyPrefix, Members: row.Members,
			RequestID: row.RequestID, Address: row.Address, UserAgent: row.UserAgent,
		}
	}
	return entries, extent, nil
}
