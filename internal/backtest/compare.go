// SPDX-License-Identifier: Apache-2.0

package backtest

import (
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
)

// Comparison lays the incidents of two rules side by side. Incidents that overlap
// are the same.
type Comparison struct {
	Both, OnlyFirst, OnlySecond int

	earlier []time.Duration // by which the first rule opened what both opened; negative for later
}

// EarlierP50 is the median of how much earlier the first rule opened what both opened;
// negative when it opened later, 0 when they have none in common.
func (c *Comparison) EarlierP50() time.Duration {
	if len(c.earlier) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(c.earlier))[len(c.earlier)/2]
}

// Add adds the comparison of another check.
func (c *Comparison) Add(other Comparison) {
	c.Both, c.OnlyFirst, c.OnlySecond = c.Both+other.Both, c.OnlyFirst+other.OnlyFirst, c.OnlySecond+other.OnlySecond
	c.earlier = append(c.earlier, other.earlier...)
}

// Compare compares the incidents that two reports list.
func Compare(first, second Report) Comparison {
	var c Comparison
	for i := range first.Incidents {
		at := slices.IndexFunc(second.Incidents, first.Incidents[i].overlaps)
		if at < 0 {
			c.OnlyFirst++
			continue
		}
		c.Both++
		c.earlier = append(c.earlier, second.Incidents[at].OpenedAt.Sub(first.Incidents[i].OpenedAt))
	}
	for i := range second.Incidents {
		if !slices.ContainsFunc(first.Incidents, second.Incidents[i].overlaps) {
			c.OnlySecond++
		}
	}
	return c
}

// overlaps reports whether two incidents were open at the same time, or met at an instant.
func (i *Incident) overlaps(other Incident) bool {
	before := func(x, y *Incident) bool { return !x.ResolvedAt.IsZero() && x.ResolvedAt.Before(y.OpenedAt) }
	return !before(i, &other) && !before(&other, i)
}

// Add adds the totals of the same rule for another check. The incidents stay those of the
// first.
func (r *Report) Add(other Report) {
	if other.Total > 0 && (r.Total == 0 || other.Shortest < r.Shortest) {
		r.Shortest = other.Shortest
	}
	r.Longest = max(r.Longest, other.Longest)
	r.Total, r.Opened, r.Recovered = r.Total+other.Total, r.Opened+other.Opened, r.Recovered+other.Recovered
	r.TimeOpen, r.Flaps = r.TimeOpen+other.TimeOpen, r.Flaps+other.Flaps
}

// CompareRecorded reports for each incident that was recorded whether a report lists one
// that overlaps it, and how many the report lists that overlap none.
func CompareRecorded(recorded []vigil.Incident, report Report) (both []bool, onlyReport int) {
	open := make([]Incident, len(recorded))
	both = make([]bool, len(recorded))
	for i := range recorded {
		open[i].OpenedAt = recorded[i].StartedAt
		if recorded[i].ResolvedAt != nil {
			open[i].ResolvedAt = *recorded[i].ResolvedAt
		}
		both[i] = slices.ContainsFunc(report.Incidents, open[i].overlaps)
	}
	for i := range report.Incidents {
		if !slices.ContainsFunc(open, report.Incidents[i].overlaps) {
			onlyReport++
		}
	}
	return both, onlyReport
}
