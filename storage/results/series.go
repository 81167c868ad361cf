// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Series sums the results of a check of the organization in equal steps of a time, for each of its regions,
// without those in maintenance. Where single results are past their retention, the steps are whole hours; from a
// step of an hour on, the numbers are those of hourly rollups, and percentiles have an error of up to 2 %. A span
// that is none is a CodeInvalid error, and an unknown check a CodeNotFound error.
func (s *Store) Series(ctx context.Context, orgID, checkID uuid.UUID, q overview.SeriesQuery) (overview.Series, error) {
	series, err := s.series(ctx, orgID, checkID, q)
	return series, pg.Wrap("read a series", err)
}

func (s *Store) series(ctx context.Context, orgID, checkID uuid.UUID, q overview.SeriesQuery) (series overview.Series, err error) {
	now := s.db.Instant()
	known, err := s.loops.Loops(ctx, orgID, checkID)
	if err != nil {
		return series, err
	}
	r := seriesReader{check: checkID, query: q, now: now, at: make(map[string]int, len(known))}
	if r.from, r.to = now.Add(-q.Period), now; q.Period == 0 {
		span, err := q.Span.Until(now)
		if err != nil {
			return series, err
		}
		r.from, r.to = span.From, span.To
	}
	for i := range known {
		r.at[known[i].Region] = i
		r.regions = append(r.regions, known[i].Region)
		if r.phase.IsZero() {
			r.phase = known[i].LastScheduled
		}
	}
	var end func()
	if r.view, end, err = s.snapshot(ctx, s.homes.with(r.regions...)); err != nil {
		return series, err
	}
	defer end()
	if err := r.choose(ctx); err != nil {
		return series, err
	}
	if err := r.read(ctx); err != nil {
		return series, err
	}
	return r.series, r.breaks(ctx)
}

// seriesReader reads one series in one snapshot.
type seriesReader struct {
	view

	check    uuid.UUID
	query    overview.SeriesQuery
	from, to time.Time
	now      time.Time
	phase    time.Time // a slot of the schedule
	regions  []string
	at       map[string]int // of a region in regions
	series   overview.Series
}

// choose finds out how long the steps are, and where they begin.
func (r *seriesReader) choose(ctx context.Context) error {
	var ms int64
	var kind vigil.CheckType
	if err := r.tx.QueryRow(ctx, "SELECT interval_ms, type FROM checks WHERE id = $1", r.check).Scan(&ms, &kind); err != nil {
		return fmt.Errorf("read the check: %w", pg.Found("check", err))
	}
	err := r.findKept(ctx)
	if err != nil {
		return err
	}
	interval, length := time.Duration(ms)*time.Millisecond, r.to.Sub(r.from)
	step := overview.SeriesStepOf(length, interval)
	single := step == interval
	if r.series.Resolution = overview.ByStep; single {
		r.series.Resolution = overview.ByResult
	}
	whole := step >= time.Hour && !single
	if !whole && r.now.Sub(r.from) > maxRawPeriod+time.Hour { // results of the last day are always kept
		if whole, err = r.gone(ctx); err != nil {
			return err
		}
		if whole {
			step = overview.SeriesStepOf(length, max(interval, time.Hour))
			step = (step + time.Hour - 1).Truncate(time.Hour)
		}
	}
	r.series.Rated = kind == vigil.TypeThroughput && !whole
	phase := time.Duration(0)
	switch {
	case whole:
		r.series.Resolution = overview.ByWholeHour
	case single && !r.phase.IsZero():
		phase = r.phase.Sub(r.phase.Truncate(step))
	}
	down := func(at time.Time) time.Time { return at.Add(-phase).Truncate(step).Add(phase) }
	start, last := down(r.from), down(r.to)
	if last.Before(r.to) {
		last = last.Add(step)
	}
	if r.query.Period != 0 { // as many steps at every time of the day
		start = last.Add(-(length + step - 1).Truncate(step))
	}
	r.series.Start, r.series.Step, r.to = start.UTC(), step, last
	for _, region := range r.regions {
		r.series.Regions = append(r.series.Regions, overview.RegionSeries{
			Region: region, Steps: make([]overview.SeriesStep, last.Sub(start)/step),
		})
	}
	return nil
}

// findKept finds since when results are kept.
func (r *seriesReader) findKept(ctx context.Context) error {
	for _, tx := range r.homes {
		var kept *time.Time
		if err := tx.QueryRow(ctx, "SELECT min(hour) FROM result_rollups WHERE check_id = $1", r.check).Scan(&kept); err != nil {
			return fmt.Errorf("find the oldest hour: %w", err)
		}
		if kept != nil && (r.series.KeptFrom.IsZero() || kept.Before(r.series.KeptFrom)) {
			r.series.KeptFrom = kept.UTC()
		}
	}
	return nil
}

// gone reports whether results of the time are past their retention: its hours have counted more than there are.
func (r *seriesReader) gone(ctx context.Context) (gone bool, err error) {
	for _, tx := range r.homes {
		err = tx.QueryRow(ctx, `
			SELECT (SELECT coalesce(sum(total + excluded), 0) FROM result_rollups
					WHERE check_id = @check AND region = ANY(@regions::text[]) AND hour >= @from AND hour < @to)
				> (SELECT count(*) FROM unnest(@regions::text[]) AS k (region) CROSS JOIN LATERAL (
					SELECT FROM results WHERE check_id = @check AND region = k.region AND slot >= @from AND slot < @to) AS r)`,
			pgx.QueryExecModeDescribeExec, pg.Named{
				"check": r.check, "regions": r.regions, "from": HourOf(r.from), "to": HourOf(r.to.Add(time.Hour - time.Microsecond)),
			}).Scan(&gone)
		if err != nil {
			return false, fmt.Errorf("look for results: %w", err)
		}
		if gone {
			return true, nil
		}
	}
	return false, nil
}

// read fills in the steps.
func (r *seriesReader) read(ctx context.Context) error {
	share := r.query.Statistic.Share()
	switch {
	case r.series.Resolution == overview.ByWholeHour && share > 0:
		return r.readHistograms(ctx, share)
	case r.series.Resolution == overview.ByWholeHour:
		return r.readSteps(ctx, `
			SELECT region, floor(extract(epoch FROM hour - @from) / @step_s)::bigint, sum(total)::bigint, sum(total - successes)::bigint,
				sum(sum_ms) / nullif(sum(successes), 0), NULL::float8
			FROM result_rollups WHERE check_id = @check AND region = ANY(@regions::text[]) AND hour >= @from AND hour < @to GROUP BY 1, 2`, share)
	}
	// The bounds leave few partitions to plan for.
	value, rate := "avg(response_time_ms) FILTER (WHERE success)", "avg((metadata->>'mbps')::float8) FILTER (WHERE success)"
	if share > 0 {
		value = "percentile_disc(@share::float8) WITHIN GROUP (ORDER BY response_time_ms) FILTER (WHERE success)"
		rate = "percentile_disc(@share::float8) WITHIN GROUP (ORDER BY (metadata->>'mbps')::float8 DESC) FILTER (WHERE success)"
	}
	if !r.series.Rated { // their metadata is not read
		rate = "NULL::float8"
	}
	return r.readSteps(ctx, `
		SELECT k.region, r.n, r.total, r.failed, r.ms, r.mbps FROM unnest(@regions::text[]) AS k (region) CROSS JOIN LATERAL (
			SELECT floor(extract(epoch FROM slot - @from) / @step_s)::bigint AS n, count(*) AS total, count(*) FILTER (WHERE NOT success) AS failed,
				`+value+` AS ms, `+rate+` AS mbps
			FROM results WHERE check_id = @check AND region = k.region AND slot >= @from AND slot < @to AND excluded = 0 GROUP BY 1
		) AS r`, share)
}

func (r *seriesReader) named(share float64) pg.Named {
	args := pg.Named{
		"check": r.check, "regions": r.regions, "from": r.series.Start, "to": r.to, "step_s": r.series.Step.Seconds(),
	}
	if share > 0 {
		args["share"] = share
	}
	return args
}

// step returns a step by its number.
func (r *seriesReader) step(region string, n int64) (*overview.SeriesStep, error) {
	steps := r.series.Regions[r.at[region]].Steps
	if n < 0 || n >= int64(len(steps)) {
		return nil, fmt.Errorf("step %d of %d", n, len(steps))
	}
	return &steps[n], nil
}

// readSteps adds the sums of each database to the steps. Where two have results of one step, which is so while a region moves to a
// database of its own, the value is the average of theirs.
func (r *seriesReader) readSteps(ctx context.Context, query string, share float64) error {
	for _, tx := range r.homes {
		if err := r.addSteps(ctx, tx, query, share); err != nil {
			return err
		}
	}
	return nil
}

func (r *seriesReader) addSteps(ctx context.Context, tx pgx.Tx, query string, share float64) error {
	found, err := tx.Query(ctx, query, r.named(share))
	if err != nil {
		return fmt.Errorf("sum steps: %w", err)
	}
	var region string
	var n, total, failed int64
	var ms, mbps *float64
	_, err = pgx.ForEachRow(found, []any{&region, &n, &total, &failed, &ms, &mbps}, func() error {
		step, err := r.step(region, n)
		if err != nil {
			return err
		}
		before, more := step.Results-step.Failures, int(total-failed)
		step.Results, step.Failures = step.Results+int(total), step.Failures+int(failed)
		step.MS, step.Mbps = averaged(step.MS, before, ms, more), averaged(step.Mbps, before, mbps, more)
		return nil
	})
	if err != nil {
		return fmt.Errorf("sum steps: %w", err)
	}
	return nil
}

// averaged is the average of two values, of so many results each; nil where there is none.
func averaged(a *float64, n int, b *float64, m int) *float64 {
	switch {
	case b == nil:
		return a
	case a == nil:
		return new(*b)
	}
	return new((*a*float64(n) + *b*float64(m)) / float64(n+m))
}

// readHistograms reads a percentile of the steps from the histograms of their hours.
func (r *seriesReader) readHistograms(ctx context.Context, share float64) error {
	times := make(map[*overview.SeriesStep]Histogram)
	for _, tx := range r.homes {
		if err := r.addHistograms(ctx, tx, times); err != nil {
			return fmt.Errorf("read histograms: %w", err)
		}
	}
	for step, histogram := range times {
		if len(histogram) > 0 {
			step.MS = new(histogram.Quantiles(share)[0])
		}
	}
	return nil
}

func (r *seriesReader) addHistograms(ctx context.Context, tx pgx.Tx, times map[*overview.SeriesStep]Histogram) error {
	found, err := tx.Query(ctx, `
		SELECT region, floor(extract(epoch FROM hour - @from) / @step_s)::bigint, total, total - successes, buckets, counts
		FROM result_rollups WHERE check_id = @check AND region = ANY(@regions::text[]) AND hour >= @from AND hour < @to`, r.named(0))
	if err != nil {
		return err
	}
	var region string
	var n, total, failed int64
	var buckets []int16
	var counts []int32
	_, err = pgx.ForEachRow(found, []any{&region, &n, &total, &failed, &buckets, &counts}, func() error {
		step, err := r.step(region, n)
		if err != nil {
			return err
		}
		step.Results, step.Failures = step.Results+int(total), step.Failures+int(failed)
		if times[step] == nil {
			times[step] = make(Histogram)
		}
		for bucket, n := range HistogramOf(buckets, counts) {
			times[step][bucket] += n
		}
		return nil
	})
	return err
}

// breaks reads the maintenance of the time.
func (r *seriesReader) breaks(ctx context.Context) error {
	found, err := r.tx.Query(ctx, loops.MaintenanceSpans+" WHERE c.id = $3", pgx.QueryExecModeDescribeExec, r.series.Start, r.to, r.check)
	if err != nil {
		return fmt.Errorf("read maintenance: %w", err)
	}
	byCheck, err := loops.CollectSpans(found)
	for _, span := range byCheck[r.check] {
		r.series.Maintenance = append(r.series.Maintenance, overview.Break{From: span.From.UTC(), To: span.To.UTC()})
	}
	return err
}
