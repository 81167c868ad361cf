// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// maxRawPeriod is the longest period that Uptime sums from results; a longer one uses
// rollups.
const maxRawPeriod = 24 * time.Hour

// Uptime sums the results of a check of the organization whose slots are within a period
// that ends now. Up to 24 hours it is exact. A longer period starts at the beginning of
// its first hour (UTC), and its percentiles are read from hourly histograms, with an
// error of up to 2 %. A due slot without a result counts as missed after its probe
// deadline. An unknown check is a CodeNotFound error.
//
// Results in maintenance are left out unless WithExcluded is true. Response times never
// include them.
func (s *Store) Uptime(ctx context.Context, orgID, checkID uuid.UUID, period time.Duration, withExcluded bool) (vigil.Uptime, error) {
	now := s.db.Instant()
	w := loops.Window{Check: checkID, From: now.Add(-period), To: now, WithExcluded: withExcluded}
	if period > maxRawPeriod {
		w.From = HourOf(w.From)
	}
	up, err := s.uptime(ctx, orgID, w, period > maxRawPeriod)
	return up, pg.Wrap("sum uptime", err)
}

// allRegions is the key of the sum over all regions; no region has an empty name.
const allRegions = ""

// uptime sums results and missed slots of a window in one snapshot, by rollups where whole hours do.
func (s *Store) uptime(ctx context.Context, orgID uuid.UUID, w loops.Window, rolledUp bool) (vigil.Uptime, error) {
	// One snapshot for all statements: otherwise a result that arrives in between
	// could count both as a result and as missed.
	tx, end, err := s.db.Snapshot(ctx)
	if err != nil {
		return vigil.Uptime{}, err
	}
	defer end()
	missed, err := MissedSlots(ctx, tx, orgID, w)
	if err != nil {
		return vigil.Uptime{}, err
	}
	sum := rawUptime
	if rolledUp {
		sum = rollupUptime
	}
	byRegion, err := sum(ctx, tx, w)
	if err != nil {
		return vigil.Uptime{}, err
	}
	total := byRegion[allRegions]
	delete(byRegion, allRegions)
	for region, n := range missed {
		up := byRegion[region]
		up.Missed = n
		byRegion[region] = up
		total.Missed += n
	}
	total.ByRegion = byRegion
	return total, nil
}

// MissedSlots counts the missed slots of every region that the check has or had in the
// window: those in stored gaps and those due since the newest result. A check that is not
// the organization's is a CodeNotFound error.
func MissedSlots(ctx context.Context, tx pgx.Tx, orgID uuid.UUID, w loops.Window) (map[string]int64, error) {
	loops, gaps, err := readMissed(ctx, tx, orgID, w)
	if err != nil {
		return nil, err
	}
	missed := make(map[string]int64)
	for i := range loops {
		missed[loops[i].Region] = loops[i].MissedBetween(w.From, w.To, w.To)
	}
	for _, g := range gaps {
		missed[g.region] += g.gap.CountBetween(w.From, w.To)
	}
	return missed, nil
}

// regionGap is a gap of a region.
type regionGap struct {
	region string
	gap    loops.Gap
}

// readMissed reads the loops of a check and its gaps in a window. A check that is not the
// organization's is a CodeNotFound error.
func readMissed(ctx context.Context, tx pgx.Tx, orgID uuid.UUID, w loops.Window) (known []loops.Row, gaps []regionGap, err error) {
	found, err := tx.Query(ctx, `
		SELECT r.region, r.active, r.start_at, r.anchor, r.interval_ms, r.offset_ms, r.cron, r.timezone,
			r.counted_until, r.deadline_ms
		FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id WHERE c.id = $1 AND c.org_id = $2 AND c.`+pg.NotDrill, w.Check, orgID)
	if err != nil {
		return nil, nil, fmt.Errorf("read loops: %w", err)
	}
	var loop loops.Row
	into := []any{
		&loop.Region, &loop.Active, &loop.StartAt, &loop.Anchor, &loop.IntervalMS, &loop.OffsetMS, &loop.Cron, &loop.Timezone,
		&loop.CountedUntil, &loop.DeadlineMS,
	}
	_, err = pgx.ForEachRow(found, into, func() error {
		known = append(known, loop)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read loops: %w", err)
	}
	if len(known) == 0 {
		return nil, nil, vigil.NotFound("check") // every check has a region
	}
	if err := loops.AddPauses(ctx, tx, known, w); err != nil {
		return nil, nil, err
	}
	found, err = tx.Query(ctx, `
		SELECT region, first_slot, last_slot, step_ms, count FROM result_gaps
		WHERE check_id = $1 AND last_slot >= $2 AND first_slot < $3`, w.Check, w.From, w.To)
	if err != nil {
		return nil, nil, fmt.Errorf("read gaps: %w", err)
	}
	var one regionGap
	var stepMS int64
	_, err = pgx.ForEachRow(found, []any{&one.region, &one.gap.First, &one.gap.Last, &stepMS, &one.gap.Count}, func() error {
		one.gap.Step = pg.FromMilliseconds(stepMS)
		gaps = append(gaps, one)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read gaps: %w", err)
	}
	return known, gaps, nil
}

// rawUptime sums results, for each region and over all regions.
func rawUptime(ctx context.Context, tx pgx.Tx, w loops.Window) (map[string]vigil.Uptime, error) {
	found, err := tx.Query(ctx, `
		SELECT coalesce(region, ''), count(*) FILTER (WHERE excluded = 0), count(*) FILTER (WHERE success AND excluded = 0),
			coalesce(avg(response_time_ms) FILTER (WHERE success AND excluded = 0), 0),
			coalesce(percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY response_time_ms)
				FILTER (WHERE success AND excluded = 0), '{0,0,0}'),
			count(*) FILTER (WHERE excluded <> 0), count(*) FILTER (WHERE success AND excluded <> 0)
		FROM results WHERE check_id = $1 AND slot >= $2 AND slot < $3
		GROUP BY GROUPING SETS ((region), ())`, w.Check, w.From, w.To)
	if err != nil {
		return nil, fmt.Errorf("sum results: %w", err)
	}
	byRegion := make(map[string]vigil.Uptime)
	var region string
	var up vigil.Uptime
	var percentiles []float64
	var excluded, excludedSuccesses int64
	into := []any{&region, &up.Total, &up.Successful, &up.AvgMS, &percentiles, &excluded, &excludedSuccesses}
	_, err = pgx.ForEachRow(found, into, func() error {
		addExcluded(w, &up, excluded, excludedSuccesses)
		up.P50MS, up.P95MS, up.P99MS = percentiles[0], percentiles[1], percentiles[2]
		byRegion[region] = up
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sum results: %w", err)
	}
	return byRegion, nil
}

// rollupUptime sums rollups, for each region and over all regions.
func rollupUptime(ctx context.Context, tx pgx.Tx, w loops.Window) (map[string]vigil.Uptime, error) {
	found, err := tx.Query(ctx, `
		SELECT region, total, successes, sum_ms, buckets, counts, excluded, excluded_successes FROM result_rollups
		WHERE check_id = $1 AND hour >= $2 AND hour < $3`, w.Check, w.From, w.To)
	if err != nil {
		return nil, fmt.Errorf("sum rollups: %w", err)
	}
	sums := map[string]*Rollup{allRegions: {Times: make(Histogram)}}
	var region string
	var hour Rollup
	var buckets []int16
	var counts []int32
	into := []any{
		&region, &hour.Total, &hour.Successes, &hour.SumMS, &buckets, &counts, &hour.excluded, &hour.excludedSuccesses,
	}
	_, err = pgx.ForEachRow(found, into, func() error {
		if sums[region] == nil {
			sums[region] = &Rollup{Times: make(Histogram)}
		}
		hour.Times = HistogramOf(buckets, counts)
		sums[region].add(hour)
		sums[allRegions].add(hour)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sum rollups: %w", err)
	}
	byRegion := make(map[string]vigil.Uptime, len(sums))
	for region, sum := range sums {
		up := sum.uptime()
		addExcluded(w, &up, sum.excluded, sum.excludedSuccesses)
		byRegion[region] = up
	}
	return byRegion, nil
}

// addExcluded adds the results in maintenance to sums without them.
func addExcluded(w loops.Window, up *vigil.Uptime, excluded, successes int64) {
	up.Excluded = excluded
	if w.WithExcluded {
		up.Total += excluded
		up.Successful += successes
	}
	up.Failed = up.Total - up.Successful
}

func (r *Rollup) add(other Rollup) {
	r.Total += other.Total
	r.Successes += other.Successes
	r.SumMS += other.SumMS
	r.excluded += other.excluded
	r.excludedSuccesses += other.excludedSuccesses
	for bucket, n := range other.Times {
		r.Times[bucket] += n
	}
}

// uptime leaves out what is excluded; the times are those of successes, as everywhere.
func (r *Rollup) uptime() vigil.Uptime {
	percentiles := r.Times.Quantiles(0.5, 0.95, 0.99)
	up := vigil.Uptime{
		Total: r.Total, Successful: r.Successes, Failed: r.Total - r.Successes,
		P50MS: percentiles[0], P95MS: percentiles[1], P99MS: percentiles[2],
	}
	if r.Successes > 0 {
		up.AvgMS = r.SumMS / float64(r.Successes)
	}
	return up
}
