// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // time zones do not depend on the files of the machine
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

const maxCron = 200 // characters

// cronField is one of the five fields of a cron expression.
type cronField struct {
	name      string
	low, high int
	names     []string // of the values from low on
}

func cronFields() [5]cronField {
	return [5]cronField{
		{name: "minute", high: 59},
		{name: "hour", high: 23},
		{name: "day of month", low: 1, high: 31},
		{name: "month", low: 1, high: 12, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
		{name: "day of week", high: 7, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
	}
}

// Cron is a cron expression of five fields that was read. Months, Days and Weekdays have a bit for
// each value, bit 1 of Months and Days is the first; 0 leaves none out.
type Cron struct {
	Times    []time.Duration // since midnight, ascending
	Days     uint32          // of the month
	Months   uint16
	Weekdays uint8 // bit 0 is Sunday
	// Either: a day that Days or Weekdays has is enough.
	Either bool
}

// ParseCron reads a cron expression of five fields: minute, hour, day of month, month and day
// of week, each "*" or a list of values, ranges and steps. When both kinds of days are given
// and neither starts with "*", one that matches is enough. An error is CodeInvalid for the member
// cron, and names the field at fault.
func ParseCron(text string) (*Cron, error) {
	cron := &Cron{}
	texts := strings.Fields(text)
	if len(text) > maxCron || len(texts) != 5 {
		return nil, Invalid("cron", "must have five fields: minute, hour, day of month, month and day of week, such as 0 22 * * 2")
	}
	var masks [5]uint64
	for i, field := range cronFields() {
		mask, err := field.parse(texts[i])
		if err != nil {
			return nil, err
		}
		masks[i] = mask
	}
	for hour := range 24 {
		for minute := range 60 {
			if masks[1]&(1<<hour) != 0 && masks[0]&(1<<minute) != 0 {
				cron.Times = append(cron.Times, time.Duration(hour)*time.Hour+time.Duration(minute)*time.Minute)
			}
		}
	}
	// Where one kind of days is enough, a field that names every day is not left out.
	cron.Either = !strings.HasPrefix(texts[2], "*") && !strings.HasPrefix(texts[4], "*")
	const everyDay, everyMonth, everyWeekday = 1<<32 - 2, 1<<13 - 2, 1<<7 - 1
	if cron.Either || masks[2] != everyDay {
		cron.Days = uint32(masks[2]) //nolint:gosec // the highest bit is 31
	}
	if masks[3] != everyMonth {
		cron.Months = uint16(masks[3]) //nolint:gosec // the highest bit is 12
	}
	masks[4] = masks[4]&everyWeekday | masks[4]>>7 // 7 is Sunday, as 0 is
	if cron.Either || masks[4] != everyWeekday {
		cron.Weekdays = uint8(masks[4]) //nolint:gosec // the highest bit is 6
	}
	return cron, nil
}

// matches reports whether the expression has times on a day.
func (c *Cron) matches(day time.Time) bool {
	onDay := c.Days == 0 || c.Days&(1<<day.Day()) != 0
	onWeekday := c.Weekdays == 0 || c.Weekdays&(1<<day.Weekday()) != 0
	if c.Either {
		return c.inMonth(day) && (onDay || onWeekday)
	}
	return c.inMonth(day) && onDay && onWeekday
}

func (c *Cron) inMonth(day time.Time) bool { return c.Months == 0 || c.Months&(1<<day.Month()) != 0 }

// parse returns the values of a field as bits.
func (f cronField) parse(text string) (uint64, error) {
	var mask uint64
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, hasStep := strings.Cut(part, "/")
		low, high, step := f.low, f.high, 1
		if f.high == 7 {
			high = 6 // * is Sunday to Saturday, once
		}
		ok := true
		if hasStep {
			step, ok = parseCronNumber(stepText, 1, max(f.high, 1))
		}
		if span != "*" && ok {
			lowText, highText, isSpan := strings.Cut(span, "-")
			if low, ok = f.value(lowText); !ok {
				return 0, f.invalid(part)
			}
			switch {
			case isSpan:
				high, ok = f.value(highText)
			case !hasStep:
				high = low
			}
		}
		if !ok || low > high {
			return 0, f.invalid(part)
		}
		for value := low; value <= high; value += step {
			mask |= 1 << value
		}
	}
	return mask, nil
}

func (f cronField) invalid(part string) error {
	return Invalid("cron", "has %q as %s, which must be '*' or values from %d to %d, with ranges (1-5), steps (*/2) and lists (1,3)",
		part, f.name, f.low, f.high)
}

func (f cronField) value(text string) (int, bool) {
	if i := slices.Index(f.names, strings.ToUpper(text)); i >= 0 {
		return f.low + i, true
	}
	return parseCronNumber(text, f.low, f.high)
}

func parseCronNumber(text string, low, high int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= low && n <= high && text[0] != '+'
}

// noZones are files beside the time zones of a machine that are none: its own zone, a place
// holder, and copies.
//
//nolint:gochecknoglobals // a constant that Go cannot spell as one
var noZones = []string{"", "local", "localtime", "factory", "posixrules"}

// zones has the zones that were loaded: to read one from its file takes longer than what is asked
// of it. Only names that exist are kept, so that there are some hundreds.
//
//nolint:gochecknoglobals // a cache of constants
var zones sync.Map

// LoadZone returns a time zone by its name in the IANA database; ok is false for a name that
// means another zone on another machine, or none.
func LoadZone(name string) (zone *time.Location, ok bool) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), true //nolint:forcetypeassert // nothing else is stored
	}
	lower := strings.ToLower(name)
	if slices.Contains(noZones, lower) || strings.HasPrefix(lower, "posix/") || strings.HasPrefix(lower, "right/") {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err == nil
}

// WallTime returns the wall time of an instant in a zone; its location is UTC.
func WallTime(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// InstantOf returns the instant of a wall time: the earlier one when clocks show it twice,
// and the first one after the gap, with shifted, when they never do. It does not use
// time.Time.ZoneBounds, which is wrong at the end of leap years from 2040 on.
func InstantOf(wall time.Time, zone *time.Location) (at time.Time, shifted bool) {
	const day = 24 * time.Hour
	for _, near := range [...]time.Duration{-2 * day, -day, 0, day, 2 * day} {
		_, offset := wall.Add(near).In(zone).Zone()
		candidate := wall.Add(-time.Duration(offset) * time.Second)
		if (at.IsZero() || candidate.Before(at)) && WallTime(candidate, zone).Equal(wall) {
			at = candidate
		}
	}
	if !at.IsZero() {
		return at, false
	}
	const span = int(4 * day / time.Second)
	first := wall.Add(-2 * day)
	after := sort.Search(span, func(seconds int) bool {
		return !WallTime(first.Add(time.Duration(seconds)*time.Second), zone).Before(wall)
	})
	return first.Add(time.Duration(after) * time.Second), true
}
