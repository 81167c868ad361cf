// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"iter"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
)

// maxDailyStarts is how often a schedule may start in a day: what is stored ahead must last
// until housekeeping stores more.
const maxDailyStarts = 100

// Zone returns the time zone of the schedule. An unknown name is a CodeInvalid error.
func (s *Schedule) Zone() (*time.Location, error) {
	zone, ok := vigil.LoadZone(s.Timezone)
	if !ok {
		return nil, vigil.Invalid("timezone", "must be the name of an IANA time zone, such as Europe/Berlin, America/New_York or UTC")
	}
	return zone, nil
}

// Validate returns a CodeInvalid error that names the member, and the part of a rule, at
// fault. A schedule that never occurs, or starts more than 100 times a day, is not valid.
func (s *Schedule) Validate() error {
	if s.Duration < MinDuration || s.Duration > MaxDuration || s.Duration%time.Second != 0 {
		return vigil.Invalid("duration_seconds", "must be a whole number from %d to %d (14 days)",
			int(MinDuration.Seconds()), int(MaxDuration.Seconds()))
	}
	if year := s.StartsAt.Year(); year < 1970 || year > 9000 {
		return vigil.Invalid("starts_at", "must be a time from 1970 to 9000")
	}
	if s.RRule != "" && s.Cron != "" {
		return vigil.Invalid("cron", "cannot be used together with rrule; leave one of them empty")
	}
	if s.Until != nil && !s.Recurs() {
		return vigil.Invalid("until", "needs rrule or cron; a window without them occurs once")
	}
	if s.Until != nil && s.Until.Before(s.StartsAt) {
		return vigil.Invalid("until", "must not be before starts_at")
	}
	return s.validateStarts()
}

func (s *Schedule) validateStarts() error {
	rule, err := s.recurrence()
	if err != nil {
		return err
	}
	member := "rrule"
	if s.Cron != "" {
		member = "cron"
	}
	if len(rule.times) > maxDailyStarts {
		return vigil.Invalid(member, "starts more than %d times a day; use a longer duration and fewer starts", maxDailyStarts)
	}
	for range rule.starts(s.StartsAt, s.StartsAt) {
		return nil
	}
	return vigil.Invalid(member, "has no occurrence within %d years of starts_at", searchYears)
}

func (s *Schedule) recurrence() (recurrence, error) {
	zone, err := s.Zone()
	if err != nil {
		return recurrence{}, err
	}
	rule := recurrence{interval: 1, count: 1, times: []time.Duration{timeOfDay(s.StartsAt)}}
	switch {
	case s.RRule != "":
		rule, err = parseRRule(s.RRule, s.StartsAt, zone)
	case s.Cron != "":
		rule, err = parseCron(s.Cron)
	}
	if s.Until != nil && (rule.until.IsZero() || s.Until.Before(rule.until)) {
		rule.until = *s.Until
	}
	return rule, err
}

// Occurrences returns, in order, the occurrences that end after a time. The schedule must be
// valid. A start that clocks skip is the first instant after the gap, and one that clocks
// repeat the earlier of both.
func (s *Schedule) Occurrences(endAfter time.Time) iter.Seq[Occurrence] {
	return func(yield func(Occurrence) bool) {
		zone, err := s.Zone()
		if err != nil {
			return
		}
		// Time zones are less than two days apart, and a gap is shorter than that.
		from := vigil.WallTime(endAfter.Add(-s.Duration), zone).Add(-2 * secondsOfDay * time.Second)
		rule, err := s.recurrence()
		if err != nil {
			return
		}
		var last time.Time
		for wall := range rule.starts(s.StartsAt, from) {
			at, shifted := vigil.InstantOf(wall, zone)
			end := at.Add(s.Duration)
			// Two wall times in one gap start at the same instant.
			if !end.After(endAfter) || at.Equal(last) {
				continue
			}
			last = at
			if !yield(Occurrence{StartsAt: at, EndsAt: end, Shifted: shifted}) {
				return
			}
		}
	}
}

// Planned returns the occurrences to store at a time: those that run, the next ones within
// Horizon and the first after it, at most MaxOccurrences, and those of the past
// from since on, of which the latest MaxOccurrences.
func (s *Schedule) Planned(now, since time.Time) []Occurrence {
	var past, ahead []Occurrence
	for o := range s.Occurrences(since) {
		if !o.EndsAt.After(now) {
			past = append(past, o)
			continue
		}
		ahead = append(ahead, o)
		if len(ahead) == MaxOccurrences || o.StartsAt.After(now.Add(Horizon)) {
			break
		}
	}
	return slices.Concat(past[max(len(past)-MaxOccurrences, 0):], ahead)
}

// WallTime returns the wall time of an instant in the time zone of the schedule; its location
// is UTC. An unknown zone counts as UTC.
func (s *Schedule) WallTime(at time.Time) time.Time {
	zone, err := s.Zone()
	if err != nil {
		return at.UTC()
	}
	return vigil.WallTime(at, zone)
}
