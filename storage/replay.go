// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RecordedIncidents returns the oldest incidents of a check of the organization that were
// open at some time in [from, to), at most limit, and how many there are.
func (s *Store) RecordedIncidents(
	ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time, limit int,
) ([]vigil.Incident, int64, error) {
	var rows []incidents.Row
	total, err := s.db.NewSelect().Model(&rows).Where("i.org_id = ? AND i.check_id = ?", orgID, checkID).
		Where("i.started_at < ? AND coalesce(i.resolved_at, 'infinity') > ?", pg.Micro(to), pg.Micro(from)).
		OrderExpr("i.started_at, i.id").Limit(int64(limit)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, pg.Wrap("read recorded incidents", err)
	}
	incidents, err := pg.TryMap(rows, (*incidents.Row).Incident)
	return incidents, total, pg.Wrap("read recorded incidents", err)
}

// PastMaintenance returns the spans in [from, to) in which a check of the organization is in
// maintenance, by their start. They may overlap.
func (s *Store) PastMaintenance(ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time) ([]maintenance.Occurrence, error) {
	var rows []loops.SpanRow
	err := loops.SelectSpans(s.db, &rows).Join("JOIN checks AS c ON c.id = ? AND "+loops.Covers, checkID).
		Where("o.org_id = ? AND o.starts_at < ? AND o.ends_at > ? AND o.removed_at IS NULL", orgID, pg.Micro(to), pg.Micro(from)).
		OrderExpr("o.starts_at, o.window_id").Scan(ctx)
	spans := make([]maintenance.Occurrence, len(rows))
	for i := range rows {
		spans[i] = rows[i].Span().Occurrence
	}
	return spans, pg.Wrap("read past maintenance", err)
}
