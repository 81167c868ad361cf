// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

// cronSets are the values of a cron expression: minute, hour, day, month, weekday. An empty set is *.
type cronSets [5][]int

func (c cronSets) text() string {
	fields := make([]string, len(c))
	for i, set := range c {
		fields[i] = "*"
		if len(set) > 0 {
			texts := make([]string, len(set))
			for j, value := range set {
				texts[j] = strconv.Itoa(value)
			}
			fields[i] = strings.Join(texts, ",")
		}
	}
	return strings.Join(fields, " ")
}

// matches is another implementation of cron: it looks at one minute of a wall clock.
func (c cronSets) matches(wall time.Time) bool {
	in := func(field, value int) bool { return len(c[field]) == 0 || slices.Contains(c[field], value) }
	days := in(2, wall.Day()) && in(4, int(wall.Weekday()))
	if len(c[2]) > 0 && len(c[4]) > 0 {
		days = in(2, wall.Day()) || in(4, int(wall.Weekday()))
	}
	return in(0, wall.Minute()) && in(1, wall.Hour()) && in(3, int(wall.Month())) && days
}

// walk returns the instants of [from, to) by the clock on the wall: each minute that it shows for the
// first time, and for those that it skips the first instant after them.
func (c cronSets) walk(zone *time.Location, from, to time.Time) []time.Time {
	var found []time.Time
	shown := make(map[int64]bool)
	wallOf := func(at time.Time) time.Time {
		_, offset := at.In(zone).Zone()
		return at.UTC().Add(time.Duration(offset) * time.Second)
	}
	last := wallOf(from.Add(-2 * time.Hour))
	for at := from.Add(-2 * time.Hour); at.Before(to); at = at.Add(time.Minute) {
		wall, due := wallOf(at), false
		for skipped := last.Add(time.Minute); skipped.Before(wall); skipped = skipped.Add(time.Minute) {
			due = due || c.matches(skipped)
		}
		due = due || !shown[wall.Unix()] && c.matches(wall)
		shown[wall.Unix()], last = true, wall
		if due && !at.Before(from) {
			found = append(found, at)
		}
	}
	return found
}

// TestTimetablesBesideAWalk compares timetables of random expressions with a walk along the clock on
// the wall, over both changes of the clocks and other days.
func TestTimetablesBesideAWalk(t *testing.T) {
	t.Parallel()
	const pairs = 300
	random := rand.New(rand.NewPCG(36, 2))
	changes := map[string][]string{
		"Europe/Berlin": {"2026-03-29", "2026-10-25"}, "America/New_York": {"2026-03-08", "2026-11-01"},
		"Australia/Lord_Howe": {"2026-04-05", "2026-10-04"}, "America/Santiago": {"2026-04-05", "2026-09-06"},
		"Africa/Casablanca": {"2026-02-15", "2026-03-22"}, "Asia/Kolkata": {"2026-05-05"}, "UTC": {"2026-02-28"},
		"Pacific/Chatham": {"2026-04-05", "2026-09-27"},
	}
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	slices.Sort(names)
	set := func(low, high, most int) []int {
		if random.IntN(2) == 0 {
			return nil
		}
		var values []int
		for range 1 + random.IntN(most) {
			values = append(values, low+random.IntN(high-low+1))
		}
		slices.Sort(values)
		return slices.Compact(values)
	}
	for range pairs {
		c := cronSets{set(0, 59, 4), set(0, 4, 3), set(1, 31, 12), nil, set(0, 6, 3)}
		name := names[random.IntN(len(names))]
		zone, _ := vigil.LoadZone(name)
		day := changes[name][random.IntN(len(changes[name]))]
		from := instant(t, day+"T00:00:00Z").Add(-24*time.Hour + time.Duration(random.IntN(600))*time.Minute)
		to := from.Add(60 * time.Hour)
		times, err := vigil.NewTimetable(c.text(), name)
		if err != nil {
			t.Fatal(c.text(), err)
		}
		var got []time.Time
		for at := times.Next(from.Add(-1)); at.Before(to); at = times.Next(at) {
			got = append(got, at.UTC())
			if newest, ok := times.Newest(at); !ok || !newest.Equal(at) {
				t.Errorf("%s %s: the newest at %v is %v", c.text(), name, at, newest)
			}
		}
		if want := c.walk(zone, from, to); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s %s from %v:\n%v, want\n%v", c.text(), name, from, got, want)
		}
	}
}
