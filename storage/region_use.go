package storage

import (
	"context"

	"github.com/uptrace/bun/dialect/pgdialect"
)

// RegionsInUse returns those of the regions that need a worker which polls, sorted: they
// have loops, also of disabled checks, loops that have not ended yet, or tests by hand.
func (s *Store) RegionsInUse(ctx context.Context, regions []string) ([]string, error) {
	var used []string
	err := s.db.NewRaw(`SELECT k.region FROM unnest(?::text[]) AS k (region)
		WHERE EXISTS (SELECT FROM check_regions AS r WHERE r.region = k.region)
			OR EXISTS (SELECT FROM loop_tombstones AS t WHERE t.region = k.region AND t.done_at IS NULL)
			OR EXISTS (SELECT FROM running_tests AS t WHERE t.region = k.region AND t.ends > clock_timestamp())
		ORDER BY k.region`, pgdialect.Array(append([]string{}, regions...))).Scan(ctx, &used)
	return used, wrap("find the regions in use", err)
}
