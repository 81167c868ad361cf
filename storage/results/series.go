// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Series sums the results of a check of the organization in steps of a period, for each of
// its regions, without those in maintenance. Steps are counted from the newest one, which is not over yet. From a step of
// an hour on, the numbers are those of hourly rollups. An unknown check is a CodeNotFound
// error.
func (s *Store) Series(ctx context.Context, orgID, checkID uuid.UUID, period, step time.Duration) (overview.Series, error) {
	now := s.db.Instant()
	series := overview.Series{Step: step, Start: now.Truncate(step).Add(step - period)}
	loops, err := s.loops.Loops(ctx, orgID, checkID)
	if err != nil {
		return overview.Series{}, err
	}
	at := make(map[string]int, len(loops))
	keys := make([]string, len(loops))
	for i, loop := range loops {
		at[loop.Region], keys[i] = i, loop.Region
		series.Regions = append(series.Regions, overview.RegionSeries{Region: loop.Region, Steps: make([]overview.SlotSummary, period/step)})
	}
	// The bounds leave few partitions to plan for.
	query := `
		SELECT k.region, r.n, r.total, r.failed, r.ms FROM unnest(@regions::text[]) AS k (region) CROSS JOIN LATERAL (
			SELECT floor(extract(epoch FROM slot - @from) / @step_s)::bigint AS n, count(*) AS total, count(*) FILTER (WHERE NOT success) AS failed,
				coalesce(sum(response_time_ms) FILTER (WHERE success), 0) AS ms
			FROM results WHERE check_id = @check AND region = k.region AND slot >= @from AND slot < @to AND excluded = 0 GROUP BY 1
		) AS r`
	if step >= time.Hour {
		query = `
			SELECT region, floor(extract(epoch FROM hour - @from) / @step_s)::bigint, sum(total)::bigint, sum(total - successes)::bigint, sum(sum_ms)
			FROM result_rollups WHERE check_id = @check AND region = ANY(@regions::text[]) AND hour >= @from AND hour < @to GROUP BY 1, 2`
	}
	found, err := s.db.Pool.Query(ctx, query, pg.Named{
		"check": checkID, "regions": keys, "from": series.Start, "to": series.Start.Add(period), "step_s": step.Seconds(),
	})
	if err != nil {
		return overview.Series{}, pg.Wrap("read a series", err)
	}
	var region string
	var n, total, failed int64
	var ms float64
	_, err = pgx.ForEachRow(found, []any{&region, &n, &total, &failed, &ms}, func() error {
		steps := series.Regions[at[region]].Steps
		if n < 0 || n >= int64(len(steps)) {
			return fmt.Errorf("step %d of %d", n, len(steps))
		}
		steps[n] = overview.SlotSummary{Results: int(total), Failures: int(failed), SumMS: ms}
		return nil
	})
	return series, pg.Wrap("read a series", err)
}
