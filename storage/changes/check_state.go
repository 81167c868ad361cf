// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// checkStates are the enabled checks of an organization that do not just pass. Indexes
// have the loops that are not healthy, those that are late and the incidents that are open, so
// that a list by state need not look at every check.
type checkStates struct {
	failing, warning, unknown []uuid.UUID
}

func (s *Store) readCheckStates(ctx context.Context, db bun.IDB, orgID uuid.UUID) (*checkStates, error) {
	var rows []struct {
		ID      uuid.UUID
		Failing bool
		Unknown bool
		Open    bool
	}
	now := s.db.Instant()
	err := db.NewRaw(`
		SELECT id, bool_or(failing) AS failing, bool_or(unknown) AS unknown, bool_or(open) AS open FROM (
			SELECT c.id, bool_or(loop.health = 'unhealthy') AS failing, bool_and(loop.health = 'unknown') AS unknown, false AS open
			FROM checks AS c JOIN LATERAL (
				SELECT `+loops.ObservedHealth(pg.SQLTime(now))+` AS health FROM check_regions AS r WHERE r.check_id = c.id AND r.active
			) AS loop ON true
			WHERE c.id IN (SELECT check_id FROM (`+illLoops(now)+`) AS ill) GROUP BY c.id
			UNION ALL SELECT check_id, false, false, true FROM incidents WHERE org_id = ?0 AND status <> 'resolved'
		) AS state GROUP BY id`, orgID).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read the states of checks: %w", err)
	}
	states := &checkStates{failing: []uuid.UUID{}, warning: []uuid.UUID{}, unknown: []uuid.UUID{}}
	for _, row := range rows {
		switch {
		case row.Failing:
			states.failing = append(states.failing, row.ID)
		case row.Open:
			states.warning = append(states.warning, row.ID)
		case row.Unknown:
			states.unknown = append(states.unknown, row.ID)
		}
	}
	return states, nil
}

// where restricts a query of checks to those of a state.
func (s *checkStates) where(query *bun.SelectQuery, state listing.CheckState) *bun.SelectQuery {
	if state == listing.StateDisabled {
		return query.Where("NOT c.enabled")
	}
	query = query.Where("c.enabled")
	switch state {
	case listing.StateFailing:
		return query.Where("c.id = ANY(?::uuid[])", pgdialect.Array(s.failing))
	case listing.StateWarning:
		return query.Where("c.id = ANY(?::uuid[])", pgdialect.Array(s.warning))
	case listing.StateUnknown:
		return query.Where("c.id = ANY(?::uuid[])", pgdialect.Array(s.unknown))
	case listing.StatePassing, listing.StateDisabled:
	}
	for _, others := range [][]uuid.UUID{s.failing, s.warning, s.unknown} {
		query = query.Where("c.id <> ALL(?::uuid[])", pgdialect.Array(others))
	}
	return query
}

// severity is SQL for the place of a check among those that need attention: by the severity of its
// open incident, one digit, and the newest incident first.
const severity = `coalesce((
	SELECT CASE i.severity WHEN 'critical' THEN '0' WHEN 'warning' THEN '1' ELSE '2' END ||
		lpad((9999999999999999 - (extract(epoch FROM i.started_at) * 1000000)::bigint)::text, 16, '0')
	FROM incidents AS i WHERE i.check_id = %[1]s.id AND i.status <> 'resolved'), '3')`

// rank is SQL for the place of a check among those sorted by state: a digit, and the severity of those
// that need attention. Only those are looked up.
func (s *checkStates) rank(alias string) string {
	return fmt.Sprintf(
		`(CASE WHEN NOT %[1]s.enabled THEN '4' WHEN %[1]s.id = ANY(%[2]s) THEN '0' || `+severity+`
			WHEN %[1]s.id = ANY(%[3]s) THEN '2' ELSE '3' END)`,
		alias,
		literal(append(append([]uuid.UUID{}, s.failing...), s.warning...)),
		literal(s.unknown),
	)
}

// literal writes ids as an SQL array.
func literal(ids []uuid.UUID) string {
	return "'{" + strings.Join(pg.UUIDTexts(ids), ",") + "}'::uuid[]"
}

// StateOf returns the state of a check by its loops.
func StateOf(loops []overview.RegionSummary, enabled, open bool) listing.CheckState {
	if !enabled {
		return listing.StateDisabled
	}
	known := false
	for _, loop := range loops {
		if loop.Health == vigil.Unhealthy {
			return listing.StateFailing
		}
		known = known || loop.Health == vigil.Healthy
	}
	switch {
	case open:
		return listing.StateWarning
	case known:
		return listing.StatePassing
	}
	return listing.StateUnknown
}
