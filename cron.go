// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

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
