// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"time"
)

// stamp is a time as <time> shows it.
type stamp struct {
	ISO  string // for datetime; empty for no time
	Text string
	Full string // with the date and the zone
	// Kind says how the browser words an age: empty as span does, length as lengthOf does.
	Kind string
}

// stamp shows a time as 12:04:12, with its date when that is not today.
func (r *request) stamp(t time.Time) stamp { return r.stampAs(t, "15:04:05") }

func (r *request) stampAs(t time.Time, clock string) stamp {
	if t.IsZero() {
		return stamp{}
	}
	local, today := t.In(r.prefs.Zone), r.now.In(r.prefs.Zone)
	text := local.Format(clock)
	switch {
	case local.Year() != today.Year():
		text = local.Format("2 Jan 2006, 15:04")
	case local.YearDay() != today.YearDay():
		text = local.Format("2 Jan, 15:04")
	}
	return stamp{ISO: t.UTC().Format(time.RFC3339Nano), Text: text, Full: local.Format("2 Jan 2006, 15:04:05 MST")}
}

// date shows the day and the minute.
func (r *request) date(t time.Time) stamp {
	if t.IsZero() {
		return stamp{}
	}
	local := t.In(r.prefs.Zone)
	return stamp{
		ISO: t.UTC().Format(time.RFC3339Nano), Text: local.Format("2 Jan 2006, 15:04 MST"), Full: local.Format("2 Jan 2006, 15:04:05 MST"),
	}
}

// ago shows how long ago a time was: 4 s, 2 min, 3 h, 2 d.
func (r *request) ago(t time.Time) stamp {
	at := r.stamp(t)
	if at.ISO != "" {
		at.Text = span(r.now.Sub(t))
	}
	return at
}

// due shows when something is due: in 5 min, or now.
func (r *request) due(t time.Time) stamp {
	at := r.stamp(t)
	if at.ISO != "" {
		at.Text = inOrSoon(t.Sub(r.now))
	}
	return at
}

// length shows how long something that goes on has been going on.
func (r *request) length(since time.Time) stamp {
	at := r.stamp(since)
	at.Text, at.Kind = lengthOf(r.now.Sub(since)), "length"
	return at
}

// lengthOf words a length by its two largest units, and from an hour on by the largest one.
func lengthOf(d time.Duration) string {
	if d >= time.Hour {
		return span(d)
	}
	return spanExact(d)
}

// span words a duration by its largest unit: 4 s, 2 min, 3 h, 2 d.
func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d/time.Hour))
	}
	return fmt.Sprintf("%d d", int(d/(24*time.Hour)))
}

// spanExact words a duration by its two largest units, as an interval or the length of an
// incident: 30 s, 2 min 22 s, 1 h, 1 h 30 min.
func spanExact(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i, unit := range units {
		if d < unit.size && unit.name != "s" {
			continue
		}
		text := fmt.Sprintf("%d %s", d/unit.size, unit.name)
		if i+1 < len(units) {
			if rest := d % unit.size / units[i+1].size; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0 s"
}

// secondsOf is a number of seconds as a duration.
func secondsOf(n int64) time.Duration { return time.Duration(n) * time.Second }
