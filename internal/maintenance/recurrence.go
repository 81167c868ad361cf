// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"iter"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// searchYears bounds the search for the next occurrence: 29 February on a given weekday
// comes back within 40 years, also around a year such as 2100, which is no leap year.
const searchYears = 40

type frequency int

const (
	daily frequency = iota
	weekly
	monthly
	yearly
)

// recurrence says on which civil days a schedule occurs, and at which times of these days.
// Zero masks and empty lists match everything.
type recurrence struct {
	freq     frequency
	interval int
	months   uint16          // bit 1 is January
	days     uint32          // days of the month, bit 1 is the first
	lastDays uint32          // days counted from the end of the month, bit 1 is the last
	weekdays []ordinalDay    // in any order: one that matches is enough
	either   bool            // cron: days or weekdays match, where both are given
	count    int             // of all occurrences; 0: no limit
	until    time.Time       // wall time; zero: no end
	times    []time.Duration // since midnight, ascending
}

// ordinalDay is a weekday; with n it is the nth of the month or the year, from the end when
// n is negative.
type ordinalDay struct {
	weekday time.Weekday
	n       int
}

// civilDay is a day of the proleptic Gregorian calendar.
type civilDay struct {
	number      int // days since 1970-01-01
	year        int
	month, day  int
	monthDays   int // of its month
	yearDay     int // from 0
	weekday     time.Weekday
	monthNumber int // months since year 0
}

// starts returns the wall times of the occurrences, in order. start is the wall time from
// which the schedule holds; occurrences that start before from are left out. It ends
// searchYears after the later of both.
func (r *recurrence) starts(start, from time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		first := start
		if r.count == 0 && from.After(start) {
			first = from // nothing counts what comes before
		}
		origin, n := dayOf(start), 0
		for day := range daysFrom(first, timing.Later(start, from).Year()+searchYears, r.months) {
			if !r.matches(&day, &origin) {
				continue
			}
			midnight := time.Unix(int64(day.number)*secondsOfDay, 0).UTC()
			for _, at := range r.times {
				wall := midnight.Add(at)
				if wall.Before(start) {
					continue
				}
				if n++; r.count > 0 && n > r.count || !r.until.IsZero() && wall.After(r.until) {
					return
				}
				if !wall.Before(from) && !yield(wall) {
					return
				}
			}
		}
	}
}

const secondsOfDay = 24 * 60 * 60

func dayOf(wall time.Time) civilDay {
	year, month, day := wall.Date()
	return civilDay{
		number: int(midnight(year, int(month), day).Unix() / secondsOfDay), year: year, month: int(month), day: day,
		monthDays: monthDays(year, int(month)), yearDay: wall.YearDay() - 1, weekday: wall.Weekday(), monthNumber: year*12 + int(month),
	}
}

func midnight(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

func monthDays(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysFrom returns the days from that of a wall time to the end of a year, without the
// months that the mask leaves out.
func daysFrom(wall time.Time, lastYear int, months uint16) iter.Seq[civilDay] {
	return func(yield func(civilDay) bool) {
		day := dayOf(wall)
		for day.year <= lastYear {
			if months != 0 && months&(1<<day.month) == 0 {
				day.skip(day.monthDays - day.day)
			} else if !yield(day) {
				return
			}
			day.skip(1)
		}
	}
}

// skip goes n days on: to the end of the month at most, or to the first of the next.
func (d *civilDay) skip(n int) {
	d.number, d.day, d.yearDay, d.weekday = d.number+n, d.day+n, d.yearDay+n, time.Weekday((int(d.weekday)+n)%7)
	if d.day <= d.monthDays {
		return
	}
	d.day, d.month, d.monthNumber = 1, d.month+1, d.monthNumber+1
	if d.month > 12 {
		d.month, d.year, d.yearDay = 1, d.year+1, 0
		d.monthNumber = d.year*12 + 1
	}
	d.monthDays = monthDays(d.year, d.month)
}

// matches reports whether the recurrence has occurrences on a day; origin is the day on
// which its schedule starts.
func (r *recurrence) matches(day, origin *civilDay) bool {
	return r.inPeriod(day, origin) && r.onDay(day)
}

func (r *recurrence) inPeriod(day, origin *civilDay) bool {
	if r.interval == 1 {
		return true
	}
	switch r.freq {
	case weekly:
		return (weekNumber(day)-weekNumber(origin))%r.interval == 0
	case monthly:
		return (day.monthNumber-origin.monthNumber)%r.interval == 0
	case yearly:
		return (day.year-origin.year)%r.interval == 0
	case daily:
	}
	return (day.number-origin.number)%r.interval == 0
}

// weekNumber counts weeks from Monday to Sunday.
func weekNumber(day *civilDay) int {
	fromMonday := (int(day.weekday) + 6) % 7
	return (day.number - fromMonday) / 7
}

func (r *recurrence) onDay(day *civilDay) bool {
	anyDate, anyWeekday := r.days == 0 && r.lastDays == 0, len(r.weekdays) == 0
	onDate := r.days&(1<<day.day) != 0 || r.lastDays&(1<<(day.monthDays-day.day+1)) != 0
	if r.either && !anyDate && !anyWeekday {
		return onDate || r.onOneOf(day)
	}
	return (anyDate || onDate) && (anyWeekday || r.onOneOf(day))
}

func (r *recurrence) onOneOf(day *civilDay) bool {
	return slices.ContainsFunc(r.weekdays, func(o ordinalDay) bool { return r.onWeekday(o, day) })
}

func (r *recurrence) onWeekday(o ordinalDay, day *civilDay) bool {
	if o.weekday != day.weekday {
		return false
	}
	at, last := day.day-1, day.monthDays-1
	if r.freq == yearly && r.months == 0 {
		at, last = day.yearDay, 364
		if monthDays(day.year, 2) == 29 {
			last = 365
		}
	}
	switch {
	case o.n > 0:
		return at/7+1 == o.n
	case o.n < 0:
		return (last-at)/7+1 == -o.n
	}
	return true
}
