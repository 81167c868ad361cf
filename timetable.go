// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"iter"
	"time"
)

// Timetable are the instants of a cron expression in a time zone. Each time that the expression
// has on a day is one instant: the earlier one when clocks show it twice, and the first one after
// the gap when they skip it.
type Timetable struct {
	cron *Cron
	zone *time.Location
}

// searchYears bounds the search for the next instant: 29 February on a given weekday comes back
// within 40 years, also around a year such as 2100, which is no leap year.
const searchYears = 40

// NewTimetable reads a cron expression and the name of a time zone, empty for UTC. An error is
// CodeInvalid for the member cron or timezone. An expression without an instant within 40 years is
// not valid.
func NewTimetable(cron, timezone string) (*Timetable, error) {
	parsed, err := ParseCron(cron)
	if err != nil {
		return nil, err
	}
	if timezone == "" {
		timezone = "UTC"
	}
	zone, ok := LoadZone(timezone)
	if !ok {
		return nil, Invalid("timezone", "must be the name of an IANA time zone, such as Europe/Berlin, America/New_York or UTC")
	}
	t := &Timetable{parsed, zone}
	for range t.days(time.Unix(0, 0).UTC(), 1) {
		return t, nil
	}
	return nil, Invalid("cron", "has no time within %d years", searchYears)
}

// days are the midnights, as wall times, of the days on which the expression has times: from that
// of a wall time on, by one day forwards (1) or backwards (-1), within 40 years.
func (t *Timetable) days(wall time.Time, by int) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		year, month, day := wall.Date()
		at := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		for end := at.AddDate(searchYears*by, 0, 0); by > 0 && at.Before(end) || by < 0 && at.After(end); at = at.AddDate(0, 0, by) {
			if !t.cron.inMonth(at) { // to the end of the month on the way
				if by > 0 {
					at = time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC)
				} else {
					at = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
				}
				continue
			}
			if t.cron.matches(at) && !yield(at) {
				return
			}
		}
	}
}

// Next returns the first instant after another one, and that in 40 years when there is none.
func (t *Timetable) Next(after time.Time) time.Time {
	// A wall time before that of an instant is no later instant: clocks that are put back show
	// what they have shown.
	from := WallTime(after, t.zone)
	for midnight := range t.days(from, 1) {
		for _, since := range t.cron.Times {
			wall := midnight.Add(since)
			if wall.Before(from) {
				continue
			}
			if at, _ := InstantOf(wall, t.zone); at.After(after) {
				return at
			}
		}
	}
	return after.AddDate(searchYears, 0, 0)
}

// Newest returns the last instant at or before another one, or false when there is none within 40
// years.
func (t *Timetable) Newest(at time.Time) (time.Time, bool) {
	// After clocks were put back, instants of the hour before have later wall times.
	const longestChange = 26 * time.Hour
	from := WallTime(at, t.zone)
	if before := WallTime(at.Add(-longestChange), t.zone).Add(longestChange); before.After(from) {
		from = before
	}
	for midnight := range t.days(from, -1) {
		for i := len(t.cron.Times) - 1; i >= 0; i-- {
			wall := midnight.Add(t.cron.Times[i])
			if wall.After(from) {
				continue
			}
			if found, _ := InstantOf(wall, t.zone); !found.After(at) {
				return found, true
			}
		}
	}
	return time.Time{}, false
}

// shortestYears is how many years Shortest looks at: in them each weekday is on each date that is
// not 29 February.
const shortestYears = 12

// Shortest returns the shortest time between two instants that follow each other, by the clocks of
// the zone, at most limit.
func (t *Timetable) Shortest(limit time.Duration) time.Duration {
	shortest := limit
	times := t.cron.Times
	for i := 1; i < len(times); i++ {
		shortest = min(shortest, times[i]-times[i-1])
	}
	first, last := times[0], times[len(times)-1]
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	var before time.Time
	for midnight := range t.days(start, 1) {
		if midnight.Year() >= start.Year()+shortestYears {
			break
		}
		if !before.IsZero() {
			shortest = min(shortest, midnight.Sub(before)-last+first)
		}
		before = midnight
	}
	return shortest
}
