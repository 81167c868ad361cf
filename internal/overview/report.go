// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// DefaultTarget is the target of uptime where none is given, in percent.
const DefaultTarget = 99.9

// MaxDayChecks is how many checks a report may have that shows the days of each.
const MaxDayChecks = 300

// ReportQuery asks for a report of the uptime of checks.
type ReportQuery struct {
	Span   Span
	Labels []vigil.LabelSelector // all must match; none: every check
	// Days: the rows have their days, too.
	Days bool
}

// Figures are what a report says of a check, of a day, or in all.
type Figures struct {
	Tally
	// Incidents are those that began in the time; Acknowledged and Resolved, how many of them are by now.
	Incidents, Acknowledged, Resolved int64
	// ToAcknowledge and ToResolve are how long that took since the incident began, in no order.
	ToAcknowledge, ToResolve []time.Duration
}

// Add adds other figures.
func (f *Figures) Add(other *Figures) {
	f.Tally.Add(other.Tally)
	f.Incidents += other.Incidents
	f.Acknowledged += other.Acknowledged
	f.Resolved += other.Resolved
	f.ToAcknowledge = append(f.ToAcknowledge, other.ToAcknowledge...)
	f.ToResolve = append(f.ToResolve, other.ToResolve...)
}

// MeanMedian returns the mean and the median of times, the lower one of two in the middle; nil without
// any.
func MeanMedian(times []time.Duration) (mean, median *time.Duration) {
	if len(times) == 0 {
		return nil, nil
	}
	sorted := slices.Sorted(slices.Values(times))
	var sum time.Duration
	for _, one := range sorted {
		sum += one
	}
	average := sum / time.Duration(len(sorted))
	return &average, &sorted[(len(sorted)-1)/2]
}

// ReportRow is a check in a report.
type ReportRow struct {
	CheckID uuid.UUID
	Name    string
	Figures
	// Days are those of the report, oldest first; nil where they were not asked for.
	Days []Figures
}

// Report is the uptime of many checks, without its rows.
type Report struct {
	Span   Span // its end is not after the present
	Checks int64
	// From and To say how exactly the edges were met, at all checks: by the hour when one was.
	From, To Precision
	Figures
	// Edges are the beginnings of the days, and the end. Days are the figures between them.
	Edges []time.Time
	Days  []Figures
}

// Until returns the part of a span that is not after the present. The error is a CodeInvalid one that names
// the member at fault.
func (s Span) Until(now time.Time) (Span, error) {
	switch {
	case !s.From.Before(s.To):
		return s, vigil.Invalid("to", "must be after from")
	case s.To.Sub(s.From) > MaxSpan:
		return s, vigil.Invalid("to", "must be at most 366 days after from")
	case !s.From.Before(now):
		return s, vigil.Invalid("from", "must be before the present")
	}
	if s.To.After(now) {
		s.To = now
	}
	return s, nil
}
