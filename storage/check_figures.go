// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// figuresQuery reads checks, the oldest first, with their loops. The checks in maintenance
// and those with an open incident are few, and found once.
//
//nolint:gochecknoglobals // a constant
var figuresQuery = `WITH clock AS MATERIALIZED (SELECT coalesce(@edge::timestamptz, clock_timestamp()) AS now),
	open AS MATERIALIZED (SELECT DISTINCT check_id FROM incidents WHERE (@org::uuid IS NULL OR org_id = @org) AND status <> 'resolved'),
	shown AS MATERIALIZED (
		SELECT c.id, c.org_id, c.name, c.type, c.enabled, c.created_at, c.labels, c.drill_id, c.id IN (SELECT check_id FROM open) AS open,
			EXISTS (SELECT ` + loops.RunningOf + `) AS held, ARRAY(SELECT coalesce(c.labels->>k, '') FROM unnest(@labels::text[]) AS k) AS chosen
		FROM clock, checks AS c WHERE (@org::uuid IS NULL OR c.org_id = @org) AND c.` + pg.NotDrill + ` ORDER BY c.created_at, c.id LIMIT @limit
	)
	SELECT c.id, c.org_id, c.name, c.type, c.enabled, c.open, c.held, c.chosen, r.region, ` + loops.ObservedHealth("@now::timestamptz") + `,
		r.last_time, r.last_slot
	FROM shown AS c LEFT JOIN check_regions AS r ON r.check_id = c.id AND r.active AND c.enabled
	ORDER BY c.created_at, c.id, r.region`

// CheckFigures returns the figures of up to limit checks of an organization, of all
// organizations for uuid.Nil, the oldest checks first, with the values of these labels. It reads
// two statements, however many checks there are: a loop knows the slot of its newest result.
func (s *Store) CheckFigures(ctx context.Context, orgID uuid.UUID, labels []string, limit int) ([]overview.CheckFigures, error) {
	var org *uuid.UUID
	if orgID != uuid.Nil {
		org = &orgID
	}
	found, err := s.db.Pool.Query(ctx, figuresQuery, pg.Named{
		"org": org, "labels": append([]string{}, labels...), "limit": limit, "edge": s.MaintenanceEdge(), "now": s.db.Instant(),
	})
	if err != nil {
		return nil, pg.Wrap("read the figures of checks", err)
	}
	var figures []overview.CheckFigures
	var row overview.CheckFigures
	var kind string
	var region, health *string
	var at, slot *time.Time
	var keys []results.Key
	var shown []place
	into := []any{
		&row.ID, &row.OrgID, &row.Name, &kind, &row.Enabled, &row.IncidentOpen, &row.InMaintenance, &row.Labels,
		&region, &health, &at, &slot,
	}
	_, err = pgx.ForEachRow(found, into, func() error {
		if n := len(figures); n == 0 || figures[n-1].ID != row.ID {
			row.Type = vigil.CheckType(kind)
			figures = append(figures, row)
		}
		if region == nil {
			return nil
		}
		one := overview.RegionFigures{Region: *region, Health: vigil.Health(*health), Time: pg.ZeroIfNil(at).UTC(), Response: -1}
		last := &figures[len(figures)-1]
		if slot != nil {
			keys = append(keys, results.Key{CheckID: row.ID, Region: *region, Slot: *slot})
			shown = append(shown, place{len(figures) - 1, len(last.Regions)})
		}
		last.Regions = append(last.Regions, one)
		return nil
	})
	if err != nil {
		return nil, pg.Wrap("read the figures of checks", err)
	}
	newest, err := s.Briefs(ctx, nil, keys)
	for i, result := range newest {
		if result != nil {
			one := &figures[shown[i].check].Regions[shown[i].region]
			one.Response, one.SSLDays = result.Response, result.Days
		}
	}
	return figures, err
}

// place is where a region of a check is among the figures.
type place struct{ check, region int }
