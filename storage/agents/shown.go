// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// agentRow is an agent as people see it.
type agentRow struct {
	ID, LocationID                         uuid.UUID
	Name, Version                          string
	Types                                  []string `bun:",array"`
	StartedAt, SeenAt                      time.Time
	ClockMs, Checks                        int64
	SpoolResults, SpoolBytes, SpoolDropped int64
	Reports                                bool
}

func (r *agentRow) agent() location.Agent {
	types := make([]vigil.CheckType, len(r.Types))
	for i, of := range r.Types {
		types[i] = vigil.CheckType(of)
	}
	return location.Agent{
		ID: r.ID, Name: r.Name, Version: r.Version, StartedAt: r.StartedAt.UTC(), SeenAt: r.SeenAt.UTC(),
		Clock: pg.FromMilliseconds(r.ClockMs), Checks: r.Checks, Types: types,
		Spool: location.Spool{Results: r.SpoolResults, Bytes: r.SpoolBytes, Dropped: r.SpoolDropped},
	}
}

// mostAgents is how many agents of a location are shown.
const mostAgents = 20

// complete adds to locations what their agents report and how many checks name them. The clock is that
// of the database, which seen_at has.
func (s *Store) complete(ctx context.Context, rows []locationRow) ([]location.Location, error) {
	shown, ids := make([]location.Location, len(rows)), make([]uuid.UUID, len(rows))
	at := make(map[uuid.UUID]*location.Location, len(rows))
	for i := range rows {
		shown[i], ids[i] = rows[i].location(), rows[i].ID
		at[ids[i]] = &shown[i]
	}
	if len(rows) == 0 {
		return shown, nil
	}
	var found []struct {
		ID     uuid.UUID
		Online bool
		Checks int64
	}
	err := s.db.NewRaw(`SELECT l.id, coalesce(l.seen_at > clock_timestamp() - ? * interval '1 ms', false) AS online, (
			SELECT count(DISTINCT cr.check_id) FROM check_regions AS cr WHERE cr.region = l.key AND (cr.org_id = l.org_id OR l.org_id IS NULL)
		) AS checks FROM locations AS l WHERE l.id = ANY(?::uuid[])`,
		pg.Milliseconds(agentlink.SilentAfter), pgdialect.Array(ids)).Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("read the states of locations: %w", err)
	}
	for _, one := range found {
		at[one.ID].Checks = one.Checks
		if one.Online {
			at[one.ID].State = location.Online
		}
	}
	for i := range rows {
		if rows[i].SeenAt != nil && shown[i].State != location.Online {
			shown[i].State, shown[i].SilentSince = location.Silent, new(rows[i].SeenAt.UTC())
		}
	}
	return shown, s.addAgents(ctx, ids, at)
}

// addAgents adds the agents that report, and to a location without them the one that reported last.
func (s *Store) addAgents(ctx context.Context, ids []uuid.UUID, at map[uuid.UUID]*location.Location) error {
	var found []agentRow
	err := s.db.NewRaw(`SELECT a.* FROM unnest(?::uuid[]) AS of (id) CROSS JOIN LATERAL (
			SELECT id, location_id, name, version, types, started_at, seen_at, clock_ms, checks, spool_results, spool_bytes, spool_dropped,
				`+reports(agentlink.SilentAfter)+` AS reports
			FROM agents WHERE location_id = of.id ORDER BY seen_at DESC, id LIMIT ?
		) AS a ORDER BY a.seen_at DESC, a.id`, pgdialect.Array(ids), mostAgents).Scan(ctx, &found)
	if err != nil {
		return fmt.Errorf("read the agents of locations: %w", err)
	}
	for i := range found {
		l := at[found[i].LocationID]
		if found[i].Reports || len(l.Agents) == 0 && l.State == location.Silent {
			l.Agents = append(l.Agents, found[i].agent())
		}
	}
	return nil
}

// ServedRegions returns the public regions that agents serve, each with the types that those of its agents
// can probe that report; nil for a region from which none does.
func (s *Store) ServedRegions(ctx context.Context) (map[string][]vigil.CheckType, error) {
	var found []struct {
		Key   string
		Types []string `bun:"types,array"`
	}
	err := s.db.NewRaw(`SELECT l.key, (SELECT array_agg(DISTINCT type) FROM agents AS a, unnest(a.types) AS type
			WHERE a.location_id = l.id AND `+reports(agentlink.SilentAfter)+`) AS types
		FROM locations AS l WHERE l.org_id IS NULL`).Scan(ctx, &found)
	if err != nil {
		return nil, pg.Wrap("find the regions that agents serve", err)
	}
	served := make(map[string][]vigil.CheckType, len(found))
	for _, one := range found {
		var types []vigil.CheckType
		for _, of := range one.Types {
			types = append(types, vigil.CheckType(of))
		}
		served[one.Key] = types
	}
	return served, nil
}

// LiveLocations returns the organization's locations from which an agent reports, each with the types that
// its agents can probe.
func (s *Store) LiveLocations(ctx context.Context, orgID uuid.UUID) (map[string][]vigil.CheckType, error) {
	var found []struct{ Key, Type string }
	err := s.db.NewRaw(`SELECT DISTINCT l.key, unnest(a.types) AS type FROM locations AS l JOIN (
			SELECT location_id, types FROM agents WHERE `+reports(agentlink.SilentAfter)+`
		) AS a ON a.location_id = l.id WHERE l.org_id = ?`, orgID).Scan(ctx, &found)
	if err != nil {
		return nil, pg.Wrap("find the live locations", err)
	}
	live := make(map[string][]vigil.CheckType)
	for _, one := range found {
		live[one.Key] = append(live[one.Key], vigil.CheckType(one.Type))
	}
	return live, nil
}
