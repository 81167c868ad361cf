// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// zoneOf returns the time zone of a parameter.
func zoneOf(name string) (*time.Location, error) {
	zone, ok := vigil.LoadZone(name)
	if !ok {
		return nil, vigil.Invalid("timezone", "must be the name of an IANA time zone, such as Europe/Berlin or UTC")
	}
	return zone, nil
}

// instantOf reads an instant, or a day that begins in a time zone.
func instantOf(member, text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		at, _ := vigil.InstantOf(day, zone)
		return at, nil
	}
	return time.Time{}, vigil.Invalid(
		member,
		"must be an instant such as 2026-10-01T00:00:00Z (a + in a query is written as %%2B), "+
			"or a day such as 2026-10-01, which begins in timezone",
	)
}

// spanOf returns the span of parameters. Without to it ends at the present. The store refuses the bounds that
// are wrong.
func spanOf(from, to, timezone string, now time.Time) (span overview.Span, err error) {
	if span.Zone, err = zoneOf(timezone); err != nil {
		return span, err
	}
	if from == "" {
		return span, vigil.Invalid("from", "is missing: it is where the time begins")
	}
	if span.From, err = instantOf("from", from, span.Zone); err != nil {
		return span, err
	}
	span.To = now
	if to != "" {
		if span.To, err = instantOf("to", to, span.Zone); err != nil {
			return span, err
		}
	}
	return span, nil
}

// monthOf returns a calendar month in a time zone; that of the present without a text.
func monthOf(text, timezone string, now time.Time) (span overview.Span, err error) {
	zone, err := zoneOf(timezone)
	if err != nil {
		return span, err
	}
	month := now.In(zone)
	if text != "" {
		if month, err = time.Parse("2006-01", text); err != nil {
			return span, vigil.Invalid("month", "must be a year and a month such as 2026-10")
		}
	}
	span = overview.MonthOf(month.Year(), month.Month(), zone)
	if !span.From.Before(now) {
		return span, vigil.Invalid("month", "must have begun: %s is to come", text)
	}
	return span, nil
}
