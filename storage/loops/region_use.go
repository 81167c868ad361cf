// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// WorkerRegion is the SQL of vigil.WorkerRegion for a column that has a region; check_regions has it as a
// column of its own.
func WorkerRegion(column string) string {
	return "CASE WHEN " + column + " LIKE '" + vigil.LocationPrefix + "%' THEN '" + vigil.LocationsRegion + "' ELSE " + column + " END"
}

// regionsInUse is a query that steps from one region that has loops to the next in their index: it looks at
// as many entries as there are such regions, however many loops they have.
func regionsInUse() string {
	return `WITH RECURSIVE loops AS (
		SELECT min(worker_region) AS region FROM check_regions
		UNION ALL
		SELECT (SELECT min(r.worker_region) FROM check_regions AS r WHERE r.worker_region > l.region) FROM loops AS l WHERE l.region IS NOT NULL
	)
	SELECT k.region FROM unnest($1::text[]) AS k (region)
	WHERE k.region IN (SELECT region FROM loops WHERE region IS NOT NULL)
		OR k.region IN (SELECT ` + WorkerRegion("t.region") + ` FROM loop_tombstones AS t WHERE t.done_at IS NULL)
		OR k.region IN (SELECT ` + WorkerRegion("t.region") + ` FROM running_tests AS t WHERE t.ends > clock_timestamp())
	ORDER BY k.region`
}

// RegionsInUse returns those of the regions that need a worker which polls, sorted: they
// have loops, also of disabled checks, loops that have not ended yet, or tests by hand.
func (s *Store) RegionsInUse(ctx context.Context, regions []string) ([]string, error) {
	used, err := pg.Rows[string](ctx, s.db, regionsInUse(), append([]string{}, regions...))
	return used, pg.Wrap("find the regions in use", err)
}
