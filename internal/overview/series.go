// SPDX-License-Identifier: Apache-2.0

package overview

import "time"

// Statistic is what response times of several results become.
type Statistic string

// Statistics.
const (
	Mean Statistic = "mean"
	P50  Statistic = "p50"
	P95  Statistic = "p95"
)

// Share is the share of the results that a percentile is not below; zero for the mean.
func (s Statistic) Share() float64 {
	switch s {
	case P50:
		return 0.5
	case P95:
		return 0.95
	case Mean:
	}
	return 0
}

// Resolution says what the steps of a series are made of.
type Resolution string

// Resolutions.
const (
	ByResult    Resolution = "result" // a step has one result of each region
	ByStep      Resolution = "step"   // several results
	ByWholeHour Resolution = "hour"   // sums of whole hours (UTC)
)

// MaxSeriesSteps is how many steps a series has at most, but for those that its edges add.
const MaxSeriesSteps = 300

// SeriesQuery selects a series.
type SeriesQuery struct {
	// Period ends at the present; it takes the place of Span unless it is zero.
	Period    time.Duration
	Span      Span
	Statistic Statistic
}

// Series are the results of a check in equal steps of time. The newest step may not be over yet.
type Series struct {
	Start      time.Time // of the oldest step
	Step       time.Duration
	Resolution Resolution
	Rated      bool // the steps have Mbps where there is one: those of a throughput check, but for whole hours
	// KeptFrom is the beginning of the oldest hour that something is kept of; zero without a result.
	KeptFrom    time.Time
	Maintenance []Break        // oldest first; none overlap
	Regions     []RegionSeries // in the order of the check's regions
}

// Break is a time in which a check is in maintenance.
type Break struct{ From, To time.Time }

// RegionSeries are the steps of one region, oldest first. A step without results is zero.
type RegionSeries struct {
	Region string // key
	Steps  []SeriesStep
}

// SeriesStep sums the results of a step, outside of maintenance.
type SeriesStep struct {
	Results, Failures int
	MS                *float64 // of the successful results, by the statistic; nil without one
	// Mbps is the rate of the successful results of a throughput check, in Mbit/s (10^6), by the statistic: a percentile is
	// what that share of them reaches. Nil for other types, without a result, and by whole hours, which do not keep it.
	Mbps *float64
}

// SeriesStepOf is how long the steps of a series over a span are, for a check with an interval: the interval
// where that gives few enough, and otherwise a time that clocks divide by, at least the interval, so that a step
// without a result is a gap.
func SeriesStepOf(span, interval time.Duration) time.Duration {
	const hour = time.Hour
	if interval > 0 && span <= MaxSeriesSteps*interval {
		return interval
	}
	for _, step := range []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
		5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, hour, 2 * hour, 4 * hour, 6 * hour, 12 * hour, 24 * hour,
	} {
		if step >= interval && span <= MaxSeriesSteps*step {
			return step
		}
	}
	return 2 * 24 * hour // of MaxSpan
}
