// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
)

// Tone is the colour of a cell. It never carries a meaning that the text does not.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Bad
	Doubtful
	Faint
)

// Cell is one value. Scripts get it whole; a terminal may get a shorter form.
type Cell struct {
	full, short string
	at          *time.Time
	tone        Tone
	shrinks     bool
}

// Text is a text that a narrow terminal shortens.
func Text(text string) Cell { return Cell{full: text, short: text, shrinks: true} }

// Word is a text that is never shortened.
func Word(text string) Cell { return Cell{full: text, short: text} }

// Short is a value with a shorter form for terminals.
func Short(full, short string) Cell { return Cell{full: full, short: short} }

// ID is an id, of which a terminal gets the end, as ShortID has it.
func ID(id string) Cell { return Cell{full: id, short: ShortID(id)} }

// Number is a number with thousands separators on a terminal.
func Number(n int64) Cell { return Cell{full: fmt.Sprint(n), short: Thousands(n)} }

// Time is an instant: RFC 3339 for scripts, the time that has passed on a terminal.
// Nil is empty.
func Time(at *time.Time) Cell { return Cell{at: at} }

// Toned returns the cell in a colour.
func (c Cell) Toned(tone Tone) Cell {
	c.tone = tone
	return c
}

// whole returns the value for scripts.
func (c Cell) whole() string {
	if c.at != nil {
		return c.at.UTC().Format(time.RFC3339)
	}
	return Clean(c.full)
}

// brief returns the value for a terminal.
func (c Cell) brief(now time.Time) string {
	if c.at != nil {
		return Ago(*c.at, now)
	}
	return Clean(c.short)
}

// Clean removes what would act on a terminal or break a line: names and messages come
// from elsewhere.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // overrides of the direction
			return -1
		}
		return r
	}, text)
}

// Thousands formats a number with commas.
func Thousands(n int64) string {
	digits := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Ago formats how long an instant is past, or ahead.
func Ago(at, now time.Time) string {
	passed := now.Sub(at)
	if passed < -time.Second {
		return "in " + Span(-passed)
	}
	return Span(max(0, passed)) + " ago"
}

// Span formats a duration by its largest unit, as 4s, 31m, 2h or 12d.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second && d > 0:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(math.Floor(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d/day))
	}
}
