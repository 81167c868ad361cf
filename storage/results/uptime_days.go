// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// UptimeDays sums the results of a check of the organization for each of the last days
// (UTC), newest first; today is the first. The numbers are those of Uptime, without
// response times and without results in maintenance. An unknown check is a CodeNotFound error.
func (s *Store) UptimeDays(ctx context.Context, orgID, checkID uuid.UUID, days int) ([]overview.UptimeDay, error) {
	list, err := s.uptimeDays(ctx, orgID, checkID, days)
	return list, pg.Wrap("sum uptime by day", err)
}

func (s *Store) uptimeDays(ctx context.Context, orgID, checkID uuid.UUID, days int) ([]overview.UptimeDay, error) {
	now := s.db.Instant()
	today := DayOf(now)
	t := tallies{now: now}
	for n := days - 1; n >= 0; n-- {
		t.edges = append(t.edges, StartOf(today-int64(n)))
	}
	t.edges = append(t.edges, now)
	v, end, err := s.snapshot(ctx, s.homes.all)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := t.read(ctx, v, orgID, []uuid.UUID{checkID}); err != nil {
		return nil, err
	}
	if t.loops == 0 {
		return nil, vigil.NotFound("check") // every check has a region
	}
	sums := make([]overview.Tally, days)
	for key, sum := range t.sums {
		sums[key.segment].Add(*sum)
	}
	list := make([]overview.UptimeDay, days)
	for i := range list {
		list[i] = overview.UptimeDay{Day: t.edges[days-1-i], Uptime: sums[days-1-i].Uptime()}
	}
	return list, nil
}

// UptimeBetween sums the results of a check of the organization in a span, whose end is not after the
// present. An edge is met to the slot while the results around it are kept, and to the hour afterwards.
// Percentiles are read from histograms, with an error of up to 2 %, unless the span has at most 24 hours whose
// results are kept. An unknown check is a CodeNotFound error.
func (s *Store) UptimeBetween(
	ctx context.Context, orgID, checkID uuid.UUID, span overview.Span, withExcluded bool,
) (overview.SpanUptime, error) {
	up, err := s.uptimeBetween(ctx, orgID, checkID, span, withExcluded)
	return up, pg.Wrap("sum uptime", err)
}

func (s *Store) uptimeBetween(
	ctx context.Context, orgID, checkID uuid.UUID, span overview.Span, withExcluded bool,
) (up overview.SpanUptime, err error) {
	t := tallies{now: s.db.Instant(), withExcluded: withExcluded}
	if span, err = span.Until(t.now); err != nil {
		return up, err
	}
	for _, edge := range span.Edges() {
		t.edges = append(t.edges, pg.Micro(edge.UTC()))
	}
	// One snapshot for all statements: otherwise a result that arrives in between
	// could count both as a result and as missed.
	v, end, err := s.snapshot(ctx, s.homes.all)
	if err != nil {
		return up, err
	}
	defer end()
	if err := t.read(ctx, v, orgID, []uuid.UUID{checkID}); err != nil {
		return up, err
	}
	if t.loops == 0 {
		return up, vigil.NotFound("check") // every check has a region
	}
	up.From, up.To = t.edge(checkID, 0), t.edge(checkID, len(t.edges)-1)
	byRegion := make(map[string]overview.Tally)
	for key, sum := range t.sums {
		of := byRegion[key.region]
		of.Add(*sum)
		byRegion[key.region] = of
		up.Tally.Add(*sum)
	}
	times, err := responseTimes(ctx, v, checkID, up.From, up.To, up.Tally.Successful)
	if err != nil {
		return up, err
	}
	up.Uptime = withTimes(up.Tally.Uptime(), times[allRegions])
	up.ByRegion = make(map[string]vigil.Uptime, len(byRegion))
	for region, sum := range byRegion {
		up.ByRegion[region] = withTimes(sum.Uptime(), times[region])
	}
	return up, nil
}

func withTimes(up, times vigil.Uptime) vigil.Uptime {
	up.AvgMS, up.P50MS, up.P95MS, up.P99MS = times.AvgMS, times.P50MS, times.P95MS, times.P99MS
	return up
}

// Uptime sums the results of a check of the organization whose slots are within a period
// that ends now. A period of more than 24 hours starts at the beginning of
// its first hour (UTC), and its percentiles are read from hourly histograms, with an
// error of up to 2 %. A due slot without a result counts as missed after its probe
// deadline. An unknown check is a CodeNotFound error.
//
// Results in maintenance are left out unless WithExcluded is true. Response times never
// include them.
func (s *Store) Uptime(ctx context.Context, orgID, checkID uuid.UUID, period time.Duration, withExcluded bool) (vigil.Uptime, error) {
	now := s.db.Instant()
	span := overview.Span{From: now.Add(-period), To: now, Zone: time.UTC}
	if period > maxRawPeriod {
		span.From = HourOf(span.From)
	}
	up, err := s.uptimeBetween(ctx, orgID, checkID, span, withExcluded)
	return up.Uptime, pg.Wrap("sum uptime", err)
}
