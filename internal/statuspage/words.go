// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"fmt"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil"
)

// subject names services, or counts them when there are more than two, with the verb.
func subject(names []string) string {
	switch len(names) {
	case 1:
		return names[0] + " is"
	case 2:
		return vigil.JoinWords(names) + " are"
	default:
		return strconv.Itoa(len(names)) + " services are"
	}
}

// dateOf is a day of this or another year, for people.
func dateOf(at, now time.Time) string {
	if at.Year() != now.Year() {
		return at.Format("2 January 2006")
	}
	return at.Format("2 January")
}

// clock is a time of today, or a day and a time. Both are UTC.
func clock(at, now time.Time) string {
	if sameDay(at, now) {
		return at.Format("15:04")
	}
	return dateOf(at, now) + ", " + at.Format("15:04")
}

func sameDay(a, b time.Time) bool {
	return a.Truncate(24 * time.Hour).Equal(b.Truncate(24 * time.Hour))
}

// took is a duration, for people.
func took(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(1, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d d", int(d.Hours())/24)
	}
}

// uptime is a share of successes in percent, rounded down to two decimals; 100 has none.
func uptime(total, failed int64) string {
	if total == 0 {
		return ""
	}
	if failed == 0 {
		return "100"
	}
	hundredths := 10_000 * (total - failed) / total
	return fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
}

// counted is a number of things, for people.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// joined lists words, for people.
func joined(words []string) string { return vigil.JoinWords(words) }
