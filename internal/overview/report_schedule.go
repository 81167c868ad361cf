// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// Every says how often a report is sent, and which time it is about.
type Every string

// How often a report is sent: about the calendar week (Monday to Sunday), month or quarter before.
const (
	Weekly    Every = "weekly"
	Monthly   Every = "monthly"
	Quarterly Every = "quarterly"
)

const (
	// MaxReportSchedules is how many schedules of reports an organization has at most.
	MaxReportSchedules = 20
	// MaxReportChannels is how many channels a schedule has at most.
	MaxReportChannels = 50
	lastReportDay     = 28 // that each month has
	lastWeekday       = 7
	lastHour          = 23
	monthsOfQuarter   = 3
)

// ReportRecurrence is when a report is sent.
type ReportRecurrence struct {
	Every Every
	// Day is the weekday, 1 (Monday) to 7, or the day of the month, 1 to 28; of a quarter, in its first month.
	Day int
	// Hour of the day in Timezone, 0 to 23.
	Hour     int
	Timezone string // IANA name
}

// Validate returns a CodeInvalid error that names the member at fault.
func (r *ReportRecurrence) Validate() error {
	switch {
	case r.Every != Weekly && r.Every != Monthly && r.Every != Quarterly:
		return vigil.Invalid("recurrence.every", "must be weekly, monthly or quarterly")
	case r.Every == Weekly && (r.Day < 1 || r.Day > lastWeekday):
		return vigil.Invalid("recurrence.day", "must be a weekday from 1 (Monday) to %d (Sunday)", lastWeekday)
	case r.Every != Weekly && (r.Day < 1 || r.Day > lastReportDay):
		return vigil.Invalid("recurrence.day", "must be a day from 1 to %d, which each month has", lastReportDay)
	case r.Hour < 0 || r.Hour > lastHour:
		return vigil.Invalid("recurrence.hour", "must be from 0 to %d", lastHour)
	}
	if _, ok := vigil.LoadZone(r.Timezone); !ok {
		return vigil.Invalid("recurrence.timezone", "must be the name of an IANA time zone, such as Europe/Berlin or UTC")
	}
	return nil
}

// Span is the week, month or quarter before an instant.
func (r *ReportRecurrence) Span(at time.Time) Span {
	zone, ok := vigil.LoadZone(r.Timezone)
	if !ok { // it was validated, and the platform may have other zones now
		zone = time.UTC
	}
	year, month, day := at.In(zone).Date()
	var from, to time.Time // wall times
	switch r.Every {
	case Weekly:
		sinceMonday := (int(at.In(zone).Weekday()) + lastWeekday - 1) % lastWeekday
		to = time.Date(year, month, day-sinceMonday, 0, 0, 0, 0, time.UTC)
		from = to.AddDate(0, 0, -lastWeekday)
	case Quarterly:
		to = time.Date(year, month-(month-1)%monthsOfQuarter, 1, 0, 0, 0, 0, time.UTC)
		from = to.AddDate(0, -monthsOfQuarter, 0)
	case Monthly:
		to = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		from = to.AddDate(0, -1, 0)
	}
	span := Span{Zone: zone}
	span.From, _ = vigil.InstantOf(from, zone)
	span.To, _ = vigil.InstantOf(to, zone)
	return span
}

// ReportSchedule sends reports to channels by itself. Each time has one report, also when the process is
// killed.
type ReportSchedule struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	Name  string
	// Channels are those that get the reports, at least one.
	Channels []uuid.UUID
	// Labels are selectors of the checks, in the form of a query; none: every check.
	Labels     []string
	Target     float64 // percent
	Recurrence ReportRecurrence
	Enabled    bool
	// NextAt is when the next report is sent; nil where the schedule is disabled.
	NextAt *time.Time
	// LastAt is the time of the last report that was sent, and SkippedAt the last time that was left out; nil: none.
	LastAt, SkippedAt *time.Time
	// Version increases by one with every change that a caller makes.
	Version              int64
	CreatedAt, UpdatedAt time.Time
}

// ReportID is the ID of the report of one time of a schedule, so that there is one.
func ReportID(schedule uuid.UUID, at time.Time) uuid.UUID {
	return uuid.NewSHA1(schedule, []byte(at.UTC().Format(time.RFC3339)))
}
