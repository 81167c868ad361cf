// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/changes"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// rollupInterval is the interval from which on the slots of a check are read from hourly
// rollups: an hour then has one slot at most, and the results of 60 slots would be in too
// many partitions.
const rollupInterval = time.Hour

// Summaries returns the summaries of checks of the organization, by their ids. It reads
// a fixed number of statements, however many checks there are. The two with thousands of rows
// are prepared, since their rows come in binary then.
func (s *Store) Summaries(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]overview.CheckSummary, error) {
	now := s.db.Instant()
	sums, err := s.startSummaries(ctx, orgID, ids, now)
	if err != nil {
		return nil, pg.Wrap("read summaries", err)
	}
	// Results and rollups are of other checks, and what is said of checks has members of its own: they are read side by side.
	work, beside := errgroup.WithContext(ctx)
	work.Go(func() error { return sums.readResults(beside, s, now) })
	work.Go(func() error { return sums.readRollups(beside, s) })
	work.Go(func() error { return sums.readUptime(beside, s, now) })
	work.Go(func() error { return sums.readFailures(beside, s) })
	work.Go(func() error {
		batch := &pgx.Batch{}
		sums.queueIncidents(batch)
		sums.queueLimits(batch)
		if batch.Len() == 0 {
			return nil
		}
		return s.db.Pool.SendBatch(beside, batch).Close()
	})
	if err := work.Wait(); err != nil {
		return nil, pg.Wrap("read summaries", err)
	}
	out := make(map[uuid.UUID]overview.CheckSummary, len(sums))
	for id, sum := range sums {
		out[id] = sum.finish(id)
	}
	return out, nil
}

// checkSum is the summary of a check while it is read.
type checkSum struct {
	anchor           time.Time
	interval         time.Duration
	first, last      int64 // numbers of the slots on the grid of the check
	regions          []summaryRegion
	slots            []overview.SlotSummary
	times            []float64         // response times of successful results
	histogram        results.Histogram // the same, of rollups
	total, successes int64

	enabled      bool
	health       []overview.RegionSummary
	incident     *vigil.Incident
	slowerThanMS *int64
}

// summaryRegion is a region of a check and how its slots lie on the grid.
type summaryRegion struct {
	key    string
	offset time.Duration
	last   time.Time // its newest slot
	failed bool      // there
}

type checkSums map[uuid.UUID]*checkSum

// slot returns the number of the slot that an instant belongs to.
func (c *checkSum) slot(at time.Time) int64 {
	return int64(math.Floor(float64(at.Sub(c.anchor)) / float64(c.interval)))
}

// startSummaries reads which slots each summary has.
func (s *Store) startSummaries(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID, now time.Time) (checkSums, error) {
	found, err := s.db.Pool.Query(ctx, `
		SELECT r.check_id, r.region, r.active, r.start_at, r.anchor, r.interval_ms, r.offset_ms, r.deadline_ms,
			coalesce(r.last_slot, r.start_at), `+loops.ObservedHealth("$3::timestamptz")+`
		FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id
		WHERE r.check_id = ANY($1::text[]::uuid[]) AND r.org_id = $2 AND c.`+pg.NotDrill+` ORDER BY r.check_id, r.region`,
		pg.UUIDTexts(ids), orgID, pg.Micro(now))
	if err != nil {
		return nil, fmt.Errorf("read loops: %w", err)
	}
	sums := make(checkSums, len(ids))
	var check uuid.UUID
	var loop loops.Row
	var last time.Time
	into := []any{
		&check, &loop.Region, &loop.Active, &loop.StartAt, &loop.Anchor, &loop.IntervalMS, &loop.OffsetMS, &loop.DeadlineMS, &last,
		&loop.Health,
	}
	_, err = pgx.ForEachRow(found, into, func() error {
		sum := sums[check]
		if sum == nil {
			sum = &checkSum{anchor: loop.Anchor.UTC(), interval: pg.FromMilliseconds(loop.IntervalMS), first: math.MaxInt64, last: math.MinInt64}
			sums[check] = sum
		}
		health := vigil.Health(loop.Health)
		sum.regions = append(sum.regions, summaryRegion{
			key: loop.Region, offset: pg.FromMilliseconds(loop.OffsetMS), last: last, failed: loop.Active && health == vigil.Unhealthy,
		})
		sum.health = append(sum.health, overview.RegionSummary{Region: loop.Region, Health: health})
		sum.enabled = sum.enabled || loop.Active
		// A slot whose result may still come does not count as missed.
		sum.last = max(sum.last, sum.slot(last))
		if loop.Active {
			sum.last = max(sum.last, sum.slot(now.Add(-pg.FromMilliseconds(loop.DeadlineMS+loop.OffsetMS))))
		}
		sum.first = min(sum.first, sum.slot(loop.StartAt))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read loops: %w", err)
	}
	for _, sum := range sums {
		sum.first = max(sum.first, sum.last-overview.SummarySlots+1)
		sum.slots = make([]overview.SlotSummary, max(0, sum.last-sum.first+1))
	}
	return sums, nil
}

// loops returns the loops of the checks that are selected, with the start of their oldest slot, and what is read of each.
func (c checkSums) loops(selected func(*checkSum) bool) (of results.Loops, sums []*checkSum) {
	for id, sum := range c {
		if len(sum.slots) == 0 || !selected(sum) {
			continue
		}
		for _, region := range sum.regions {
			sums, of.Checks, of.Regions = append(sums, sum), append(of.Checks, id.String()), append(of.Regions, region.key)
			of.Since = append(of.Since, sum.anchor.Add(time.Duration(sum.first)*sum.interval))
		}
	}
	return of, sums
}

// readResults reads the slots of checks with a short interval from their results.
func (c checkSums) readResults(ctx context.Context, s *Store, now time.Time) error {
	of, sums := c.loops(func(sum *checkSum) bool { return sum.interval < rollupInterval })
	to := results.StartOf(results.DayOf(now) + 2)
	return s.VisitNewest(ctx, of, to, overview.SummarySlots, func(loop int, slot time.Time, success, excluded bool, ms float64) {
		sum := sums[loop]
		n := sum.slot(slot) - sum.first
		if n < 0 || n >= int64(len(sum.slots)) {
			return // the clock of the worker is ahead
		}
		into := &sum.slots[n]
		into.Results++
		if success {
			into.SumMS += ms
			if !excluded {
				sum.times = append(sum.times, ms)
			}
		} else {
			into.Failures++
		}
	})
}

// readRollups reads the slots of checks with a long interval from hourly rollups.
func (c checkSums) readRollups(ctx context.Context, s *Store) error {
	of, sums := c.loops(func(sum *checkSum) bool { return sum.interval >= rollupInterval })
	for i := range of.Since {
		of.Since[i] = results.HourOf(of.Since[i])
	}
	return s.VisitHours(ctx, of, func(loop int, hour time.Time, sum *results.Rollup) { sums[loop].addHour(of.Regions[loop], hour, sum) })
}

// readUptime adds up the rollups of the last 24 hours.
func (c checkSums) readUptime(ctx context.Context, s *Store, now time.Time) error {
	of, sums := c.loops(func(*checkSum) bool { return true })
	for i := range of.Since {
		of.Since[i] = results.HourOf(now.Add(-24 * time.Hour))
	}
	return s.VisitTotals(ctx, of, func(loop int, total, successes int64) {
		sum := sums[loop]
		sum.total, sum.successes = sum.total+total, sum.successes+successes
	})
}

// addHour adds the rollup of an hour to the slot of the region that lies in it.
func (c *checkSum) addHour(region string, hour time.Time, sum *results.Rollup) {
	end := hour.Add(time.Hour - time.Microsecond)
	for _, r := range c.regions {
		if r.key == region {
			end = end.Add(-r.offset)
		}
	}
	n := c.slot(end) - c.first
	if n < 0 || n >= int64(len(c.slots)) {
		return
	}
	into := &c.slots[n]
	into.Results += int(sum.Total)
	into.Failures += int(sum.Total - sum.Successes)
	into.SumMS += sum.SumMS
	if c.histogram == nil {
		c.histogram = make(results.Histogram)
	}
	for bucket, count := range sum.Times {
		c.histogram[bucket] += count
	}
}

func (c *checkSum) finish(id uuid.UUID) overview.CheckSummary {
	out := overview.CheckSummary{
		CheckID: id, Start: c.anchor.Add(time.Duration(c.first) * c.interval), Interval: c.interval, Slots: c.slots,
		Results: c.total, Successes: c.successes,
		State: changes.StateOf(c.health, c.enabled, c.incident != nil), Regions: c.health, Incident: c.incident, SlowerThanMS: c.slowerThanMS,
	}
	const share = 0.95
	switch {
	case len(c.times) > 0:
		slices.Sort(c.times)
		out.P95MS = new(c.times[int(math.Ceil(share*float64(len(c.times))))-1])
	case len(c.histogram) > 0:
		out.P95MS = new(c.histogram.Quantiles(share)[0])
	}
	return out
}
