// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

const wallForm = "2006-01-02T15:04"

func wall(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(wallForm, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func schedule(t *testing.T, start, zone, rrule, cron string) maintenance.Schedule {
	t.Helper()
	return maintenance.Schedule{StartsAt: wall(t, start), Timezone: zone, Duration: time.Hour, RRule: rrule, Cron: cron}
}

// firstStarts are the first n occurrences of a schedule.
func firstStarts(s *maintenance.Schedule, n int) []maintenance.Occurrence {
	var all []maintenance.Occurrence
	for o := range s.Occurrences(time.Time{}) {
		if all = append(all, o); len(all) == n {
			break
		}
	}
	return all
}

// The files are what python-dateutil and zoneinfo answer, with the rule for gaps of the
// clock: rule, start, zone, which of the starts are shifted (bits), and the first 12 starts
// within 40 years.
func TestRecurrencesAgreeWithAReferenceImplementation(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.tsv")
	if err != nil || len(files) == 0 {
		t.Fatal("no reference", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases, longest := 0, time.Duration(0)
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			began := time.Now()
			compare(t, fields)
			longest = max(longest, time.Since(began))
			cases++
		}
		t.Logf("%s: %d cases, the longest took %s", file, cases, longest)
	}
}

func compare(t *testing.T, fields []string) {
	t.Helper()
	s := schedule(t, fields[1], fields[2], fields[0], "")
	shifted, err := strconv.ParseUint(fields[3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var want []maintenance.Occurrence
	for i, text := range strings.Split(fields[4], ",") {
		if text == "" {
			continue
		}
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(seconds, 0).UTC()
		want = append(want, maintenance.Occurrence{StartsAt: at, EndsAt: at.Add(time.Hour), Shifted: shifted&(1<<i) != 0})
	}
	if got := firstStarts(&s, 12); !slices.Equal(got, want) {
		t.Errorf("%s\n got %v\nwant %v", strings.Join(fields[:3], " "), got, want)
	}
	if err := s.Validate(); (err == nil) != (len(want) > 0) {
		t.Errorf("%s with %d occurrences: %v", strings.Join(fields[:3], " "), len(want), err)
	}
}

func TestAnOccurrenceStartsAfterAGapAndAtTheEarlierOfTwo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start, zone, rrule, cron string
		want                     string // of the first occurrence, UTC
		shifted                  bool
	}{
		"in a gap":                 {"2026-03-29T02:30", "Europe/Berlin", "", "", "2026-03-29T01:00", true},
		"at the start of a gap":    {"2026-03-29T02:00", "Europe/Berlin", "", "", "2026-03-29T01:00", true},
		"after a gap":              {"2026-03-29T03:00", "Europe/Berlin", "", "", "2026-03-29T01:00", false},
		"in an overlap":            {"2026-10-25T02:30", "Europe/Berlin", "", "", "2026-10-25T00:30", false},
		"in a gap of half an hour": {"2026-10-04T02:10", "Australia/Lord_Howe", "", "", "2026-10-03T15:30", true},
		"on a day that is skipped": {"2011-12-30T10:00", "Pacific/Apia", "", "", "2011-12-30T10:00", true},
		"midnight does not exist":  {"2018-11-04T00:00", "America/Sao_Paulo", "", "", "2018-11-04T03:00", true},
		"by cron in a gap":         {"2026-03-29T00:00", "Europe/Berlin", "", "30 2 * * *", "2026-03-29T01:00", true},
	} {
		s := schedule(t, c.start, c.zone, c.rrule, c.cron)
		got := firstStarts(&s, 1)
		if len(got) != 1 || got[0].StartsAt.Format(wallForm) != c.want || got[0].Shifted != c.shifted {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTwoStartsInOneGapAreOneOccurrence(t *testing.T) {
	t.Parallel()
	s := schedule(t, "2026-03-29T01:30", "Europe/Berlin", "", "*/30 1-3 * * *")
	var got []string
	for _, o := range firstStarts(&s, 4) {
		got = append(got, o.StartsAt.Format("15:04"))
	}
	if want := []string{"00:30", "01:00", "01:30", "23:00"}; !slices.Equal(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}

func TestADurationIsElapsedTime(t *testing.T) {
	t.Parallel()
	s := schedule(t, "2026-03-28T00:00", "Europe/Berlin", "FREQ=DAILY", "")
	s.Duration = 24 * time.Hour
	days := firstStarts(&s, 3)
	if end := s.WallTime(days[1].EndsAt); end.Format(wallForm) != "2026-03-30T01:00" {
		t.Errorf("24 h from midnight of a day of 23 h end at %s", end)
	}
	if days[2].StartsAt.Format(wallForm) != "2026-03-29T22:00" {
		t.Errorf("the day after starts at %s", days[2].StartsAt)
	}
}

func TestCronExpressions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0 22 * * 2":           "2026-12-01T22:00 2026-12-08T22:00 2026-12-15T22:00",
		"0 22 * * TUE":         "2026-12-01T22:00 2026-12-08T22:00 2026-12-15T22:00",
		"15 6,18 * * 7":        "2026-12-06T06:15 2026-12-06T18:15 2026-12-13T06:15",
		"0 0 31 * *":           "2026-12-31T00:00 2027-01-31T00:00 2027-03-31T00:00",
		"0 3 1 */6 *":          "2027-01-01T03:00 2027-07-01T03:00 2028-01-01T03:00",
		"0 3 13 * FRI":         "2026-12-04T03:00 2026-12-11T03:00 2026-12-13T03:00",
		"0 3 */2 * FRI":        "2026-12-11T03:00 2026-12-25T03:00 2027-01-01T03:00",
		"59 23 28-31/3 feb *":  "2027-02-28T23:59 2028-02-28T23:59 2029-02-28T23:59",
		"0 9-17/4 * jan 1-5":   "2027-01-01T09:00 2027-01-01T13:00 2027-01-01T17:00",
		"0 12 29 2 *":          "2028-02-29T12:00 2032-02-29T12:00 2036-02-29T12:00",
		"30 4/8 1 1 *":         "2027-01-01T04:30 2027-01-01T12:30 2027-01-01T20:30",
		"0 0 1,15 * 0-6":       "2026-12-01T00:00 2026-12-02T00:00 2026-12-03T00:00",
		" 5   5  5  5  *  ":    "2027-05-05T05:05 2028-05-05T05:05 2029-05-05T05:05",
		"0 0 1 jan,dec sun-on": "",
	} {
		s := schedule(t, "2026-12-01T00:00", "UTC", "", text)
		var got []string
		for _, o := range firstStarts(&s, 3) {
			got = append(got, o.StartsAt.Format(wallForm))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestARuleThatIsNotSupportedIsRefusedByItsPart(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"BYDAY=MO": "FREQ", "FREQ=HOURLY": "FREQ=HOURLY", "FREQ=DAILY;BYHOUR=3": "BYHOUR", "FREQ=DAILY;BYSETPOS=1": "BYSETPOS",
		"FREQ=DAILY;WKST=SU": "WKST", "FREQ=DAILY;INTERVAL=0": "INTERVAL", "FREQ=DAILY;COUNT=-1": "COUNT",
		"FREQ=DAILY;COUNT=2;UNTIL=20300101": "UNTIL",
		"FREQ=DAILY;UNTIL=tomorrow":         "UNTIL", "FREQ=MONTHLY;BYDAY=6MO": "BYDAY", "FREQ=WEEKLY;BYDAY=1MO": "BYDAY",
		"FREQ=DAILY;BYDAY=XX": "BYDAY",
		"FREQ=DAILY;BYDAY=M":  "BYDAY", "FREQ=WEEKLY;BYMONTHDAY=1": "BYMONTHDAY", "FREQ=DAILY;BYMONTHDAY=0": "BYMONTHDAY",
		"FREQ=DAILY;BYMONTH=13": "BYMONTH",
		"FREQ=DAILY;FREQ=DAILY": "FREQ", "FREQ": "FREQ", "DTSTART:20260101\nRRULE:FREQ=DAILY": "DTSTART",
		"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30":  "no occurrence",
		"FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=2MO": "no occurrence", "FREQ=YEARLY;BYWEEKNO=3": "BYWEEKNO",
		"FREQ=DAILY;UNTIL=20200101": "no occurrence",
	} {
		s := schedule(t, "2026-12-01T00:00", "UTC", text, "")
		refused(t, text, s.Validate(), "rrule", part)
	}
	for text, part := range map[string]string{
		"0 22 * *": "five fields", "@daily": "five fields", "60 * * * *": "minute", "0 24 * * *": "hour", "0 0 0 * *": "day of month",
		"0 0 * 13 *": "month", "0 0 * * 8": "day of week", "0 0 5-1 * *": "day of month", "*/0 0 * * *": "minute", "0 0 30 2 *": "no occurrence",
		"* * * * *": "100 times a day", "0 0 L * *": "day of month", "0 0 * * 1#2": "day of week", "0 0 ? * *": "day of month",
		"+1 0 * * *": "minute",
	} {
		s := schedule(t, "2026-12-01T00:00", "UTC", "", text)
		refused(t, text, s.Validate(), "cron", part)
	}
}

func refused(t *testing.T, what string, err error, member, part string) {
	t.Helper()
	var invalid *vigil.Error
	if !errors.As(err, &invalid) || invalid.Code != vigil.CodeInvalid || invalid.Details["member"] != member ||
		!strings.Contains(invalid.Message, part) {
		t.Errorf("%s: %v, want an error about %s that names %q", what, err, member, part)
	}
}

func TestMembersOfAScheduleAreValidated(t *testing.T) {
	t.Parallel()
	before := wall(t, "2026-11-30T00:00")
	for name, change := range map[string]func(*maintenance.Schedule){
		"duration_seconds": func(s *maintenance.Schedule) { s.Duration = 59 * time.Second },
		"timezone":         func(s *maintenance.Schedule) { s.Timezone = "Mars/Olympus" },
		"cron":             func(s *maintenance.Schedule) { s.RRule, s.Cron = "FREQ=DAILY", "0 0 * * *" },
		"until":            func(s *maintenance.Schedule) { s.RRule, s.Until = "FREQ=DAILY", &before },
		"starts_at":        func(s *maintenance.Schedule) { s.StartsAt = time.Time{} },
	} {
		s := schedule(t, "2026-12-01T00:00", "UTC", "", "")
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		refused(t, name, s.Validate(), name, "")
	}
	for _, zone := range []string{"", "Local", "local", "../etc/passwd"} {
		s := schedule(t, "2026-12-01T00:00", zone, "", "")
		refused(t, zone, s.Validate(), "timezone", "IANA")
	}
}

func TestPlannedOccurrencesAreBounded(t *testing.T) {
	t.Parallel()
	now := wall(t, "2026-12-01T12:30")
	for name, c := range map[string]struct {
		start, rrule, cron string
		n                  int
		first, last        string
	}{
		"once":                {"2026-12-02T00:00", "", "", 1, "2026-12-02T00:00", "2026-12-02T00:00"},
		"once, in the past":   {"2026-11-02T00:00", "", "", 1, "2026-11-02T00:00", "2026-11-02T00:00"},
		"running":             {"2026-12-01T12:00", "", "", 1, "2026-12-01T12:00", "2026-12-01T12:00"},
		"daily":               {"2020-01-01T12:00", "FREQ=DAILY", "", 91 + 399, "2026-09-02T12:00", "2028-01-04T12:00"},
		"weekly":              {"2026-12-01T00:00", "FREQ=WEEKLY", "", 1 + 58, "2026-12-01T00:00", "2028-01-11T00:00"},
		"every leap day":      {"2026-12-01T00:00", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "", 1, "2028-02-29T00:00", "2028-02-29T00:00"},
		"72 times a day":      {"2026-01-01T00:00", "", "*/20 * * * *", 800, "2026-11-25T22:20", "2026-12-07T00:40"},
		"count is used up":    {"2026-10-01T00:00", "FREQ=DAILY;COUNT=3", "", 3, "2026-10-01T00:00", "2026-10-03T00:00"},
		"ended before window": {"2026-01-01T00:00", "FREQ=DAILY;COUNT=3", "", 0, "", ""},
	} {
		s := schedule(t, c.start, "UTC", c.rrule, c.cron)
		got := s.Planned(now, now.Add(-maintenance.MaxPast))
		if len(got) != c.n {
			t.Errorf("%s: %d occurrences, want %d", name, len(got), c.n)
			continue
		}
		if c.n > 0 && (got[0].StartsAt.Format(wallForm) != c.first || got[c.n-1].StartsAt.Format(wallForm) != c.last) {
			t.Errorf("%s: from %s to %s", name, got[0].StartsAt, got[c.n-1].StartsAt)
		}
	}
}

func FuzzRecurrencesAreBoundedAndAscend(f *testing.F) {
	f.Add("FREQ=YEARLY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", "", "Africa/Casablanca", int64(1_700_000_000))
	f.Add("FREQ=DAILY;COUNT=10000;INTERVAL=3", "", "Pacific/Apia", int64(1_325_000_000))
	f.Add("", "*/15 2,3 29-31 2-4 *", "Antarctica/Troll", int64(1_711_846_800))
	f.Fuzz(func(t *testing.T, rrule, cron, zone string, start int64) {
		s := maintenance.Schedule{
			StartsAt: time.Unix(start%(1<<37), 0).UTC(), Timezone: zone, Duration: time.Hour, RRule: rrule, Cron: cron,
		}
		if s.Validate() != nil {
			return
		}
		var last time.Time
		n := 0
		for o := range s.Occurrences(time.Time{}) {
			if n > 0 && !o.StartsAt.After(last) {
				t.Fatalf("%s is not after %s", o.StartsAt, last)
			}
			if last = o.StartsAt; n == maintenance.MaxOccurrences {
				break
			}
			n++
		}
	})
}

func TestZonesOfTheMachineAreNone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "Local", "local", "localtime", "Localtime", "Factory", "FACTORY", "posixrules", "posix/Europe/Berlin", "right/Europe/Berlin",
		"../etc/passwd", "/etc/localtime", "Europe", "Mars/Base",
	} {
		if zone, ok := vigil.LoadZone(name); ok {
			t.Errorf("%q is %v", name, zone)
		}
	}
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"} {
		if _, ok := vigil.LoadZone(name); !ok {
			t.Errorf("%q is no zone", name)
		}
	}
}
