// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RecordAudit stores the audit entry of ctx unless a database change under ctx has
// already stored it. It is for audited actions that change nothing in the database.
func (s *Store) RecordAudit(ctx context.Context) error {
	return pg.Wrap("write to the audit log", s.db.RecordAudit(ctx, s.db))
}

// AuditLog returns a page of an organization's audit entries, newest first, and how many
// the filter selects.
func (s *Store) AuditLog(ctx context.Context, orgID uuid.UUID, filter listing.AuditFilter) ([]audit.Entry, listing.Extent, error) {
	rows, extent, err := pg.SmallRows[pg.AuditRow]{
		What: "the audit log", Alias: "a", Order: pg.Newest("at"),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery {
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
		Position: func(r *pg.AuditRow) listing.PagePosition { return pg.TimePosition(r.At, r.ID) },
	}.Page(ctx, s.db, filter.Page)
	if err != nil {
		return nil, listing.Extent{}, err
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
