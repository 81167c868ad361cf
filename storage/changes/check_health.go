// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// maxIllLoops is how many loops that are not healthy are looked at one by one. With more
// of them (most checks fail, or are new) the health of every check is looked up.
const maxIllLoops = 1000

// illChecks are the checks of an organization that are not healthy. Most checks are
// healthy, and indexes have the loops that are not and those that are late, so a filter or a
// count by health does not have to look up the latest result of every check.
type illChecks struct {
	latest             string // SQL that joins the health
	tooMany            bool
	unhealthy, unknown []uuid.UUID
}

// illLoops selects the checks of the loops of an organization that are not healthy, or
// unobserved.
func illLoops(now time.Time) string {
	return `SELECT check_id FROM check_regions WHERE org_id = ?0 AND health <> 'healthy'
		UNION ALL SELECT r.check_id FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id
			WHERE r.org_id = ?0 AND r.health = 'healthy' AND ` + loops.Unobserved(pg.SQLTime(now))
}

// readIllChecks finds the checks that are not healthy: each has a loop that is not.
func (s *Store) readIllChecks(ctx context.Context, db bun.IDB, orgID uuid.UUID) (*illChecks, error) {
	var loops int
	now, latest := s.db.Instant(), s.definitions.LatestResult()
	err := db.NewRaw("SELECT count(*) FROM ("+illLoops(now)+" LIMIT ?1) AS ill", orgID, maxIllLoops+1).Scan(ctx, &loops)
	if err != nil {
		return nil, fmt.Errorf("count loops that are not healthy: %w", err)
	}
	if loops > maxIllLoops {
		return &illChecks{tooMany: true, latest: latest}, nil
	}
	var rows []struct {
		ID     uuid.UUID
		Health string
	}
	err = db.NewRaw("SELECT c.id, "+definitions.HealthOf+" AS health FROM checks AS c "+latest+
		" WHERE c.id IN (SELECT check_id FROM ("+illLoops(now)+") AS ill)", orgID).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read checks that are not healthy: %w", err)
	}
	ill := &illChecks{latest: latest, unhealthy: []uuid.UUID{}, unknown: []uuid.UUID{}}
	for _, row := range rows {
		switch vigil.Health(row.Health) {
		case vigil.Unhealthy:
			ill.unhealthy = append(ill.unhealthy, row.ID)
		case vigil.Unknown:
			ill.unknown = append(ill.unknown, row.ID)
		case vigil.Healthy: // by the latest result; another region is behind
		}
	}
	return ill, nil
}

// where restricts a query of checks to those of a health.
func (i *illChecks) where(query *bun.SelectQuery, health vigil.Health) *bun.SelectQuery {
	switch {
	case i.tooMany:
		return query.Join(i.latest).Where(definitions.HealthOf+" = ?", string(health))
	case health == vigil.Unhealthy:
		return query.Where("c.id = ANY(?::uuid[])", pgdialect.Array(i.unhealthy))
	case health == vigil.Unknown:
		return query.Where("c.id = ANY(?::uuid[])", pgdialect.Array(i.unknown))
	}
	return query.Where("c.id <> ALL(?::uuid[])", pgdialect.Array(append(append([]uuid.UUID{}, i.unhealthy...), i.unknown...)))
}

// CheckCounts counts an organization's checks by their state. The filter's Health, State
// and Enabled have no effect.
func (s *Store) CheckCounts(ctx context.Context, orgID uuid.UUID, f listing.CheckFilter) (listing.CheckCounts, error) {
	f.Enabled = nil
	ill, err := s.readIllChecks(ctx, s.db, orgID)
	if err != nil {
		return listing.CheckCounts{}, pg.Wrap("count checks", err)
	}
	failing, err := s.failingWith(ctx, s.db, orgID, f)
	if err != nil {
		return listing.CheckCounts{}, pg.Wrap("count checks", err)
	}
	query := whereChecks(s.db.NewSelect().TableExpr("checks AS c"), orgID, f, failing)
	if ill.tooMany {
		query = query.Join(ill.latest).ColumnExpr(definitions.HealthOf + " AS health")
	} else {
		const health = `CASE WHEN c.id = ANY(?::uuid[]) THEN 'unhealthy' WHEN c.id = ANY(?::uuid[]) THEN 'unknown' ELSE 'healthy' END AS health`
		query = query.ColumnExpr(health, pgdialect.Array(ill.unhealthy), pgdialect.Array(ill.unknown))
	}
	var rows []struct {
		Enabled bool
		Health  string
		N       int64
	}
	if err := query.ColumnExpr("c.enabled, count(*) AS n").GroupExpr("1, 2").Scan(ctx, &rows); err != nil {
		return listing.CheckCounts{}, pg.Wrap("count checks", err)
	}
	var counts listing.CheckCounts
	for _, row := range rows {
		switch {
		case !row.Enabled:
			counts.Disabled += row.N
		case row.Health == string(vigil.Healthy):
			counts.Healthy += row.N
		case row.Health == string(vigil.Unhealthy):
			counts.Unhealthy += row.N
		default:
			counts.Unknown += row.N
		}
	}
	states, err := s.readCheckStates(ctx, s.db, orgID)
	if err != nil {
		return listing.CheckCounts{}, pg.Wrap("count checks", err)
	}
	var byState struct{ Failing, Warning int64 }
	enabled := whereChecks(s.db.NewSelect().TableExpr("checks AS c"), orgID, f, failing).Where("c.enabled")
	err = enabled.ColumnExpr("count(*) FILTER (WHERE c.id = ANY(?::uuid[])) AS failing", pgdialect.Array(states.failing)).
		ColumnExpr("count(*) FILTER (WHERE c.id = ANY(?::uuid[])) AS warning", pgdialect.Array(states.warning)).Scan(ctx, &byState)
	if err != nil {
		return listing.CheckCounts{}, pg.Wrap("count checks", err)
	}
	counts.Failing, counts.Warning = byState.Failing, byState.Warning
	counts.Passing = max(0, counts.Healthy+counts.Unhealthy-counts.Failing-counts.Warning)
	return counts, nil
}
