// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"github.com/vigil-monitor/vigil"
)

// MaxSpan is the longest time that figures are asked for at once: a year and a day. Rollups are
// kept for 13 months.
const MaxSpan = 366 * 24 * time.Hour

// Precision says how exactly an edge of a span is met.
type Precision string

// Precisions of an edge.
const (
	// Exact: the edge is met to the slot, by the results themselves or because it is that of an hour.
	Exact Precision = "exact"
	// ByHour: results around the edge are past their retention. An hour (UTC) that the edge divides
	// belongs as a whole to the span in which it begins.
	ByHour Precision = "hour"
)

// Edge is where a span of figures begins or ends.
type Edge struct {
	// At is the edge that was met: that which was asked for, or for ByHour the next whole hour.
	At        time.Time
	Precision Precision
}

// Span is a time [From, To) that is divided into the days of a time zone. Figures of a span are sums
// of those of its days, so that the days of a month are the month.
type Span struct {
	From, To time.Time
	Zone     *time.Location
}

// Edges are the beginning of the span, the beginnings of the days in it, and its end.
func (s Span) Edges() []time.Time {
	edges := []time.Time{s.From}
	for day := NextDay(s.From, s.Zone); day.Before(s.To); day = NextDay(day, s.Zone) {
		edges = append(edges, day)
	}
	return append(edges, s.To)
}

// NextDay is the beginning of the first day of a time zone that begins after an instant. A day has
// 23, 24 or 25 hours, and begins when its clocks show midnight first, or skip it.
func NextDay(at time.Time, zone *time.Location) time.Time {
	year, month, day := at.In(zone).Date()
	for n := 0; ; n++ {
		if next, _ := vigil.InstantOf(time.Date(year, month, day+n, 0, 0, 0, 0, time.UTC), zone); next.After(at) {
			return next
		}
	}
}

// MonthOf is a calendar month in a time zone.
func MonthOf(year int, month time.Month, zone *time.Location) Span {
	from, _ := vigil.InstantOf(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), zone)
	to, _ := vigil.InstantOf(time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC), zone)
	return Span{From: from, To: to, Zone: zone}
}

// Tally counts what is known of a check, or of many, in a span. Tallies of spans that follow each other
// add up to that of the whole, and those of checks to that of all.
type Tally struct {
	Total, Successful int64 // results outside of maintenance
	Missed            int64 // due slots without a result
	Excluded          int64 // results in maintenance
	// Measured is the time that results outside of maintenance stand for, and Down the part of it in
	// which the target failed: the share of an hour's results that failed, of the length of that hour.
	// An hour without results adds nothing.
	Measured, Down time.Duration
}

// Add adds another tally.
func (t *Tally) Add(other Tally) {
	t.Total += other.Total
	t.Successful += other.Successful
	t.Missed += other.Missed
	t.Excluded += other.Excluded
	t.Measured += other.Measured
	t.Down += other.Down
}

// Uptime is the tally without response times. It is where a share of results becomes a percentage.
func (t Tally) Uptime() vigil.Uptime {
	return vigil.Uptime{
		Total: t.Total, Successful: t.Successful, Failed: t.Total - t.Successful, Missed: t.Missed, Excluded: t.Excluded,
	}
}

// Budget is what a target of uptime leaves for failures.
type Budget struct {
	Target  float64       // percent, above 0 and below 100
	Allowed float64       // results that may fail
	Used    int64         // results that failed
	Time    time.Duration // of the measured time that may be down
}

// Budget returns the error budget of a target. Missed slots and results in maintenance neither add to
// it nor use it.
func (t Tally) Budget(target float64) Budget {
	share := (100 - target) / 100
	return Budget{
		Target: target, Allowed: share * float64(t.Total), Used: t.Total - t.Successful,
		Time: time.Duration(share * float64(t.Measured)),
	}
}

// LeftPercentage is the share of the budget that is left, 100 at most; negative when more failed than may;
// nil where nothing was measured.
func (b Budget) LeftPercentage() *float64 {
	if b.Allowed == 0 {
		return nil
	}
	left := 100 * (1 - float64(b.Used)/b.Allowed)
	return &left
}

// SpanUptime is the uptime of a check in a span.
type SpanUptime struct {
	From, To Edge
	vigil.Uptime
	Tally Tally // of all regions
}
