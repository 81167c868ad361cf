// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// maxRawPeriod is the longest period whose response times are read from results; for a longer one
// histograms do.
const maxRawPeriod = 24 * time.Hour

// allRegions is the key of the sum over all regions; no region has an empty name.
const allRegions = ""

// responseTimes returns the response times of a check between two edges, by region and over all
// regions. They are those of successes outside of maintenance.
// Successes are how many there are with those in maintenance, at least: results that are past their
// retention have no times.
func responseTimes(
	ctx context.Context, v view, check uuid.UUID, from, to overview.Edge, successes int64,
) (map[string]vigil.Uptime, error) {
	if to.At.Sub(from.At) <= maxRawPeriod {
		if up, n, err := rawTimes(ctx, v, check, from.At, to.At); err != nil || n >= successes {
			return up, err
		}
	}
	return histogramTimes(ctx, v, check, from.At, to.At)
}

// rawTimes reads response times from results.
func rawTimes(
	ctx context.Context, v view, check uuid.UUID, from, to time.Time,
) (byRegion map[string]vigil.Uptime, successes int64, err error) {
	times := make(map[string][]float64)
	for _, tx := range v.homes {
		found, err := tx.Query(ctx, `
			SELECT region, excluded <> 0, array_agg(response_time_ms) FROM results
			WHERE check_id = $1 AND slot >= $2 AND slot < $3 AND success GROUP BY 1, 2`, check, from, to)
		if err != nil {
			return nil, 0, fmt.Errorf("read response times: %w", err)
		}
		var region string
		var excluded bool
		var ms []float64
		_, err = pgx.ForEachRow(found, []any{&region, &excluded, &ms}, func() error {
			if successes += int64(len(ms)); !excluded {
				times[region], times[allRegions] = append(times[region], ms...), append(times[allRegions], ms...)
			}
			return nil
		})
		if err != nil {
			return nil, 0, fmt.Errorf("read response times: %w", err)
		}
	}
	byRegion = make(map[string]vigil.Uptime, len(times))
	for region, ms := range times {
		byRegion[region] = timesOf(ms)
	}
	return byRegion, successes, nil
}

// timesOf are the average and the percentiles, by the nearest-rank method, of response times in milliseconds.
func timesOf(ms []float64) (up vigil.Uptime) {
	slices.Sort(ms)
	at := func(share float64) float64 { return ms[max(0, int(math.Ceil(share*float64(len(ms))))-1)] }
	up.P50MS, up.P95MS, up.P99MS = at(0.5), at(0.95), at(0.99)
	for _, one := range ms {
		up.AvgMS += one / float64(len(ms))
	}
	return up
}

// histogramTimes reads response times from the histograms of whole hours, and from the results of the hours
// at the edges.
func histogramTimes(ctx context.Context, v view, check uuid.UUID, from, to time.Time) (map[string]vigil.Uptime, error) {
	sums := map[string]*Rollup{allRegions: {Times: make(Histogram)}}
	add := func(region string, one Rollup) {
		if sums[region] == nil {
			sums[region] = &Rollup{Times: make(Histogram)}
		}
		sums[region].add(one)
		sums[allRegions].add(one)
	}
	for _, tx := range v.homes {
		if err := addHistograms(ctx, tx, check, from, to, add); err != nil {
			return nil, err
		}
	}
	byRegion := make(map[string]vigil.Uptime, len(sums))
	for region, sum := range sums {
		byRegion[region] = sum.times()
	}
	return byRegion, nil
}

// addHistograms adds what one database has.
func addHistograms(ctx context.Context, tx pgx.Tx, check uuid.UUID, from, to time.Time, add func(region string, one Rollup)) error {
	first, last := HourOf(from.Add(time.Hour-time.Microsecond)), HourOf(to)
	found, err := tx.Query(ctx, `
		SELECT region, total, successes, sum_ms, buckets, counts FROM result_rollups
		WHERE check_id = $1 AND hour >= $2 AND hour < $3`, check, first, last)
	if err != nil {
		return fmt.Errorf("sum histograms: %w", err)
	}
	var region string
	var hour Rollup
	var buckets []int16
	var counts []int32
	_, err = pgx.ForEachRow(found, []any{&region, &hour.Total, &hour.Successes, &hour.SumMS, &buckets, &counts}, func() error {
		hour.Times = HistogramOf(buckets, counts)
		add(region, hour)
		return nil
	})
	if err != nil {
		return fmt.Errorf("sum histograms: %w", err)
	}
	found, err = tx.Query(ctx, `
		SELECT region, response_time_ms FROM results WHERE check_id = @check AND slot >= @from AND slot < @to
			AND (slot < @first OR slot >= @last) AND success AND excluded = 0`,
		pg.Named{"check": check, "from": from, "to": to, "first": first, "last": last})
	if err != nil {
		return fmt.Errorf("read response times at the edges: %w", err)
	}
	var ms float64
	_, err = pgx.ForEachRow(found, []any{&region, &ms}, func() error {
		one := Rollup{Times: make(Histogram)}
		one.count(true, ResponseTime(ms), false)
		add(region, one)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read response times at the edges: %w", err)
	}
	return nil
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

// times are the response times of the successes.
func (r *Rollup) times() (up vigil.Uptime) {
	percentiles := r.Times.Quantiles(0.5, 0.95, 0.99)
	up.P50MS, up.P95MS, up.P99MS = percentiles[0], percentiles[1], percentiles[2]
	if r.Successes > 0 {
		up.AvgMS = r.SumMS / float64(r.Successes)
	}
	return up
}
