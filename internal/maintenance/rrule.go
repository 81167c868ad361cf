// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
)

// Bounds of a recurrence rule.
const (
	maxRRule         = 500 // characters
	maxRRuleInterval = 1000
	maxRRuleCount    = 10_000
)

// parseRRule reads a subset of RFC 5545's recurrence rules: FREQ of DAILY, WEEKLY, MONTHLY
// or YEARLY, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, COUNT and UNTIL. start is the wall time of
// the schedule, which gives what the rule leaves out. An error names the part at fault.
func parseRRule(text string, start time.Time, zone *time.Location) (recurrence, error) {
	rule := recurrence{freq: -1, interval: 1, times: []time.Duration{timeOfDay(start)}}
	if len(text) > maxRRule {
		return rule, vigil.Invalid("rrule", "must have at most %d characters", maxRRule)
	}
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.ToUpper(text), ";"), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return rule, vigil.Invalid(
				"rrule",
				"has the part %q; parts have the form NAME=value, separated by ';', such as FREQ=WEEKLY;BYDAY=TU",
				part,
			)
		}
		if seen[name] {
			return rule, vigil.Invalid("rrule", "has %s more than once", name)
		}
		seen[name] = true
		if err := rule.setPart(name, value, zone); err != nil {
			return rule, err
		}
	}
	if err := rule.checkParts(seen); err != nil {
		return rule, err
	}
	rule.fill(start)
	return rule, nil
}

func timeOfDay(wall time.Time) time.Duration {
	return time.Duration(wall.Hour())*time.Hour + time.Duration(wall.Minute())*time.Minute + time.Duration(wall.Second())*time.Second
}

func (r *recurrence) setPart(name, value string, zone *time.Location) error {
	var err error
	switch name {
	case "FREQ":
		frequencies := map[string]frequency{"DAILY": daily, "WEEKLY": weekly, "MONTHLY": monthly, "YEARLY": yearly}
		freq, ok := frequencies[value]
		if !ok {
			return vigil.Invalid("rrule", "FREQ=%s is not supported; use DAILY, WEEKLY, MONTHLY or YEARLY", value)
		}
		r.freq = freq
	case "INTERVAL":
		r.interval, err = rulePartNumber(name, value, 1, maxRRuleInterval)
	case "COUNT":
		r.count, err = rulePartNumber(name, value, 1, maxRRuleCount)
	case "UNTIL":
		r.until, err = parseRuleUntil(value, zone)
	case "BYMONTH":
		for text := range strings.SplitSeq(value, ",") {
			var month int
			if month, err = rulePartNumber(name, text, 1, 12); err != nil {
				return err
			}
			r.months |= 1 << month
		}
	case "BYMONTHDAY":
		return r.setMonthDays(value)
	case "BYDAY":
		return r.setWeekdays(value)
	default:
		return vigil.Invalid("rrule", "%s is not supported; use FREQ, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, COUNT and UNTIL", name)
	}
	return err
}

func rulePartNumber(name, text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, vigil.Invalid("rrule", "%s=%s must be a whole number from %d to %d", name, text, low, high)
	}
	return n, nil
}

func (r *recurrence) setMonthDays(value string) error {
	for text := range strings.SplitSeq(value, ",") {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil || n == 0 || n < -31 || n > 31:
			return vigil.Invalid("rrule", "BYMONTHDAY=%s must be 1 to 31, or -1 to -31 to count from the end of the month", text)
		case n > 0:
			r.days |= 1 << n
		default:
			r.lastDays |= 1 << -n
		}
	}
	return nil
}

func (r *recurrence) setWeekdays(value string) error {
	names := []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}
	for text := range strings.SplitSeq(value, ",") {
		at := max(len(text)-2, 0)
		day := ordinalDay{weekday: time.Weekday(slices.Index(names, text[at:]))}
		if day.weekday < 0 {
			return vigil.Invalid(
				"rrule",
				"BYDAY=%s must be one of MO, TU, WE, TH, FR, SA and SU, with a number before it for the nth of the month",
				text,
			)
		}
		if at > 0 {
			n, err := strconv.Atoi(text[:at])
			if err != nil || n == 0 || n < -53 || n > 53 {
				return vigil.Invalid("rrule", "BYDAY=%s has a number that is not 1 to 53 or -1 to -53", text)
			}
			day.n = n
		}
		if !slices.Contains(r.weekdays, day) {
			r.weekdays = append(r.weekdays, day)
		}
	}
	return nil
}

// parseRuleUntil reads UNTIL: a date, whose whole day counts, a wall time, or a time in UTC.
func parseRuleUntil(value string, zone *time.Location) (time.Time, error) {
	if day, err := time.Parse("20060102", value); err == nil {
		return day.Add(secondsOfDay*time.Second - time.Second), nil
	}
	if wall, err := time.Parse("20060102T150405", value); err == nil {
		return wall, nil
	}
	if at, err := time.Parse("20060102T150405Z", value); err == nil {
		return vigil.WallTime(at, zone), nil
	}
	const form = "UNTIL=%s must be a date such as 20271231, or a time such as 20271231T220000 or 20271231T210000Z"
	return time.Time{}, vigil.Invalid("rrule", form, value)
}

// checkParts refuses parts that are missing or do not go together.
func (r *recurrence) checkParts(seen map[string]bool) error {
	ordinal := slices.ContainsFunc(r.weekdays, func(day ordinalDay) bool { return day.n != 0 })
	beyond := slices.ContainsFunc(r.weekdays, func(day ordinalDay) bool { return day.n > 5 || day.n < -5 })
	switch {
	case r.freq < 0:
		return vigil.Invalid("rrule", "FREQ is missing; use FREQ=DAILY, WEEKLY, MONTHLY or YEARLY")
	case seen["COUNT"] && seen["UNTIL"]:
		return vigil.Invalid("rrule", "COUNT and UNTIL cannot be used together")
	case r.freq == weekly && seen["BYMONTHDAY"]:
		return vigil.Invalid("rrule", "BYMONTHDAY cannot be used with FREQ=WEEKLY; use FREQ=MONTHLY, or FREQ=DAILY to have both conditions")
	case ordinal && r.freq < monthly:
		return vigil.Invalid("rrule", "BYDAY has a number, which needs FREQ=MONTHLY or FREQ=YEARLY")
	case beyond && (r.freq == monthly || r.months != 0):
		return vigil.Invalid("rrule", "BYDAY has a number beyond 5, and a month has at most 5 of a weekday")
	}
	return nil
}

// fill takes from the start what the rule leaves out.
func (r *recurrence) fill(start time.Time) {
	if r.days != 0 || r.lastDays != 0 || len(r.weekdays) > 0 {
		return
	}
	switch r.freq {
	case weekly:
		r.weekdays = []ordinalDay{{weekday: start.Weekday()}}
	case yearly:
		if r.months == 0 {
			r.months = 1 << int(start.Month())
		}
		r.days = 1 << start.Day()
	case monthly:
		r.days = 1 << start.Day()
	case daily:
	}
}
