// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/vigil-monitor/vigil"
)

// cronField is a field of an expression: the values that it means, as bits, and how it is written.
type cronField struct {
	values uint64
	text   string
}

// cronSets are the fields of an expression: minute, hour, day, month and weekday.
type cronSets [5]cronField

func (c *cronSets) text() string {
	texts := make([]string, len(c))
	for i, field := range c {
		texts[i] = field.text
	}
	return strings.Join(texts, " ")
}

// matches is another implementation of cron: it looks at one minute of a wall clock. Both kinds of days must
// match where one of them begins with *, and else one is enough.
func (c *cronSets) matches(wall time.Time) bool {
	has := func(field, value int) bool { return c[field].values>>value&1 == 1 }
	day, weekday := has(2, wall.Day()), has(4, int(wall.Weekday()))
	days := day && weekday
	if c[2].text[0] != '*' && c[4].text[0] != '*' {
		days = day || weekday
	}
	return days && has(0, wall.Minute()) && has(1, wall.Hour()) && has(3, int(wall.Month()))
}

// cronWriter writes expressions of known meaning in all ways that the syntax has.
type cronWriter struct{ *rand.Rand }

func cronNames(field int) []string {
	switch field {
	case 3:
		return []string{"", "JAN", "feb", "Mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	case 4:
		return []string{"sun", "MON", "TUE", "Wed", "THU", "FRI", "SAT"}
	}
	return nil
}

func (w cronWriter) value(field, value int) string {
	if names := cronNames(field); names != nil && w.IntN(3) == 0 {
		return names[value]
	}
	if field == 4 && value == 0 && w.IntN(3) == 0 {
		return "7"
	}
	return strconv.Itoa(value)
}

// steps are the values from low to high by a step, as bits.
func steps(low, high, step int) (values uint64) {
	for value := low; value <= high; value += step {
		values |= 1 << value
	}
	return values
}

// part writes a value, a range or a range with steps. The value near is more likely than others.
func (w cronWriter) part(field, low, high, near int) cronField {
	from := near
	if w.IntN(3) == 0 {
		from = low + w.IntN(high-low+1)
	}
	to, step := from+w.IntN(high-from+1), 1+w.IntN(max(1, (high-low)/3))
	switch w.IntN(6) {
	case 0: // 7 is no beginning of a range
		return cronField{steps(from, to, 1), strconv.Itoa(from) + "-" + strconv.Itoa(to)}
	case 1:
		return cronField{steps(from, to, step), fmt.Sprintf("%d-%d/%d", from, to, step)}
	case 2:
		return cronField{steps(from, high, step), fmt.Sprintf("%d/%d", from, step)}
	}
	return cronField{1 << from, w.value(field, from)}
}

// field writes a field: "*" in all of most, else steps or a list.
func (w cronWriter) field(field, low, high, near, all, most int) cronField {
	switch {
	case w.IntN(most) < all:
		return cronField{steps(low, high, 1), "*"}
	case w.IntN(6) == 0:
		step := 2 + w.IntN(max(1, (high-low)/2))
		return cronField{steps(low, high, step), "*/" + strconv.Itoa(step)}
	}
	var list cronField
	for i := range 1 + w.IntN(3) {
		part := w.part(field, low, high, near)
		if list.values |= part.values; i > 0 {
			list.text += ","
		}
		list.text += part.text
	}
	return list
}

// expression writes one that often has times near an instant of a wall clock.
func (w cronWriter) expression(near time.Time) cronSets {
	c := cronSets{
		w.field(0, 0, 59, w.IntN(60), 1, 40), w.field(1, 0, 23, w.IntN(5), 1, 4), w.field(2, 1, 31, near.Day(), 1, 2),
		w.field(3, 1, 12, int(near.Month()), 2, 3), w.field(4, 0, 6, int(near.Weekday()), 1, 2),
	}
	for bits.OnesCount64(c[0].values)*bits.OnesCount64(c[1].values) > 200 { // more say nothing more
		c[0] = w.field(0, 0, 59, w.IntN(60), 0, 1)
	}
	return c
}

// shown is a minute that a wall clock shows for the first time, or that it skips: then with the first instant after it.
type shown struct{ at, wall time.Time }

// walk goes along the clock on the wall of a zone, minute by minute.
func walk(zone *time.Location, from, to time.Time) []shown {
	const longestSetBack = 26 * time.Hour
	wallOf := func(at time.Time) time.Time {
		_, offset := at.In(zone).Zone()
		return at.UTC().Add(time.Duration(offset) * time.Second)
	}
	var minutes []shown
	seen := make(map[int64]bool)
	last := wallOf(from.Add(-longestSetBack))
	for at := from.Add(-longestSetBack); at.Before(to); at = at.Add(time.Minute) {
		wall := wallOf(at)
		for skipped := last.Add(time.Minute); !skipped.After(wall); skipped = skipped.Add(time.Minute) {
			if !seen[skipped.Unix()] && !at.Before(from) {
				minutes = append(minutes, shown{at.UTC(), skipped})
			}
			seen[skipped.Unix()] = true
		}
		last = wall
	}
	return minutes
}

// due are the instants of an expression on a walk.
func (c *cronSets) due(minutes []shown) (instants []time.Time) {
	for i := range minutes {
		if one := &minutes[i]; c.matches(one.wall) && (len(instants) == 0 || !one.at.Equal(instants[len(instants)-1])) {
			instants = append(instants, one.at)
		}
	}
	return instants
}

// clockChanges are when the clocks of zones change, from 2010 on: each within a minute.
type clockChanges map[*time.Location][]time.Time

func (c clockChanges) of(zone *time.Location) []time.Time {
	if changes, known := c[zone]; known {
		return changes
	}
	const step = 6 * time.Hour
	offset := func(at time.Time) int { _, offset := at.In(zone).Zone(); return offset }
	c[zone] = nil
	for at := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2038; at = at.Add(step) {
		before, after := at, at.Add(step)
		if offset(before) == offset(after) {
			continue
		}
		for after.Sub(before) > time.Minute {
			if middle := before.Add(after.Sub(before) / 2); offset(middle) == offset(before) {
				before = middle
			} else {
				after = middle
			}
		}
		c[zone] = append(c[zone], after)
	}
	return c[zone]
}

// walkedZones have every kind of change: by an hour, by half of one, by two, at noon and at midnight, of the date, of a zone
// for good, in Ramadan, none, and odd offsets.
func walkedZones() []string {
	return strings.Fields(`Africa/Cairo Africa/Casablanca Africa/El_Aaiun Africa/Johannesburg Africa/Juba Africa/Lagos Africa/Sao_Tome
		Africa/Tripoli Africa/Windhoek America/Anchorage America/Argentina/San_Luis America/Asuncion America/Bogota America/Caracas
		America/Cancun America/Chicago America/Denver America/Godthab America/Halifax America/Havana America/Los_Angeles
		America/Mexico_City America/Miquelon America/New_York America/Port-au-Prince America/Santiago America/Sao_Paulo
		America/Scoresbysund America/St_Johns Antarctica/Casey Antarctica/Troll Antarctica/Vostok Asia/Almaty Asia/Amman Asia/Baku
		Asia/Beirut Asia/Dhaka Asia/Famagusta Asia/Gaza Asia/Hovd Asia/Irkutsk Asia/Jerusalem Asia/Kathmandu Asia/Kolkata
		Asia/Pyongyang Asia/Tehran Asia/Tokyo Asia/Yangon Atlantic/Azores Australia/Adelaide Australia/Eucla Australia/Lord_Howe
		Australia/Sydney Etc/GMT+12 Europe/Berlin Europe/Chisinau Europe/Dublin Europe/Istanbul Europe/Lisbon Europe/London
		Europe/Moscow Europe/Volgograd Indian/Mauritius Pacific/Apia Pacific/Auckland Pacific/Chatham Pacific/Easter
		Pacific/Fakaofo Pacific/Fiji Pacific/Kiritimati Pacific/Marquesas Pacific/Norfolk Pacific/Tongatapu UTC`)
}

// pairs is how many pairs of an expression and a zone are compared: 100,000 by `make chaos`.
func pairs() int {
	if os.Getenv("VIGIL_DRILL") == "full" {
		return 100_000
	}
	return 10_000
}

// TestTimetablesBesideAWalk compares timetables of random expressions in many zones with a walk along the clock on
// the wall, over changes of the clocks in both directions and other days.
func TestTimetablesBesideAWalk(t *testing.T) {
	t.Parallel()
	const each = 50 // expressions of a walk
	random := rand.New(rand.NewPCG(36, 2))
	zones, instants, forwards, backwards := walkedZones(), 0, 0, 0
	changes := make(clockChanges)
	for i := range pairs() / each {
		name := zones[i%len(zones)]
		zone, ok := vigil.LoadZone(name)
		if !ok {
			t.Fatalf("no zone %s", name)
		}
		middle := time.Date(2010+random.IntN(28), 1, 1, 0, random.IntN(525_600), 0, 0, time.UTC)
		if all := changes.of(zone); len(all) > 0 && random.IntN(8) > 0 {
			middle = all[random.IntN(len(all))]
			_, before := middle.Add(-time.Hour).In(zone).Zone()
			if _, after := middle.In(zone).Zone(); after > before {
				forwards++
			} else {
				backwards++
			}
		}
		from, to := middle.Add(-36*time.Hour).Truncate(time.Minute), middle.Add(36*time.Hour)
		minutes := walk(zone, from, to)
		for range each {
			c := cronWriter{random}.expression(middle.In(zone))
			instants += compareWithWalk(t, random, &c, name, from, to, c.due(minutes))
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pairs: %d instants, %d walks over clocks that go forward, %d over those that go back", pairs(), instants, forwards, backwards)
	if instants < pairs() || min(forwards, backwards) < pairs()/each/4 {
		t.Errorf("%d instants, %d and %d changes are too few to say anything", instants, forwards, backwards)
	}
}

// compareWithWalk compares the instants of [from, to), and returns how many there are.
func compareWithWalk(t *testing.T, random *rand.Rand, c *cronSets, zone string, from, to time.Time, want []time.Time) int {
	t.Helper()
	times, err := vigil.NewTimetable(c.text(), zone)
	if err != nil {
		if len(want) > 0 {
			t.Errorf("%s %s: %v, want %v", c.text(), zone, err, want)
		}
		return 0 // such as 30 February
	}
	at, ends := from.Add(-1), append(slices.Clone(want), to)
	for i, due := range want {
		before := at
		if at = times.Next(at); !at.Equal(due) {
			t.Errorf("%s %s: after %v comes %v, want %v", c.text(), zone, before.UTC(), at.UTC(), due)
			return i
		}
		until := ends[i+1]
		for _, looked := range []time.Time{due, until.Add(-1), due.Add(time.Duration(random.Int64N(int64(until.Sub(due)))))} {
			if newest, ok := times.Newest(looked); !ok || !newest.Equal(due) {
				t.Errorf("%s %s: the newest at %v is %v, want %v", c.text(), zone, looked.UTC(), newest.UTC(), due)
				return i
			}
		}
	}
	if at = times.Next(at); at.Before(to) {
		t.Errorf("%s %s: %v is no instant", c.text(), zone, at.UTC())
	}
	return len(want)
}

// TestTimetablesBesideAnotherCron compares them with a library that other schedulers use, where both mean the same: while
// the clocks do not change, and where no step of one kind of days meets the other kind.
func TestTimetablesBesideAnotherCron(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(36, 3))
	zones, changes, compared := walkedZones(), make(clockChanges), 0
	for i := range pairs() {
		name := zones[i%len(zones)]
		zone, _ := vigil.LoadZone(name)
		from := time.Date(2010+random.IntN(28), 1, 1, 0, random.IntN(525_600), 0, 0, time.UTC)
		c := cronWriter{random}.expression(from.In(zone))
		text := c.text()
		if strings.ContainsAny(c[4].text, "7") || strings.Contains(c[2].text+c[4].text, "*/") {
			continue
		}
		other, err := cron.ParseStandard("CRON_TZ=" + name + " " + text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want := other.Next(from)
		times, err := vigil.NewTimetable(text, name)
		if err != nil {
			if !want.IsZero() {
				t.Fatalf("%s: %v, want %v", text, err, want)
			}
			continue
		}
		const day = 26 * time.Hour
		if want.IsZero() || slices.ContainsFunc(changes.of(zone), func(at time.Time) bool {
			return at.After(from.Add(-day)) && at.Before(want.Add(day))
		}) {
			continue
		}
		if compared++; !times.Next(from).Equal(want) {
			t.Fatalf("%s %s: after %v comes %v, want %v", text, name, from, times.Next(from).UTC(), want.UTC())
		}
	}
	t.Logf("%d of %d pairs are compared", compared, pairs())
	if compared < pairs()/4 {
		t.Errorf("%d of %d pairs are compared, too few", compared, pairs())
	}
}

// TestCronMeansItsValues compares what an expression is read as with what it was written for.
func TestCronMeansItsValues(t *testing.T) {
	t.Parallel()
	random := cronWriter{rand.New(rand.NewPCG(36, 4))}
	for range 20_000 {
		c := random.expression(time.Date(2026, 1, 1+random.IntN(365), 0, 0, 0, 0, time.UTC))
		read, err := vigil.ParseCron(c.text())
		if err != nil {
			t.Fatalf("%s: %v", c.text(), err)
		}
		var times []time.Duration
		for minute := range 24 * 60 {
			if c[1].values>>(minute/60)&1 == 1 && c[0].values>>(minute%60)&1 == 1 {
				times = append(times, time.Duration(minute)*time.Minute)
			}
		}
		if !slices.Equal(read.Times, times) {
			t.Fatalf("%s: %v, want %v", c.text(), read.Times, times)
		}
	}
}
