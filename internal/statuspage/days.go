// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/overview"
)

// badDay is a day of a service that has something to tell: failed results or an incident. All
// other days of the bars were up, or have no data.
type badDay struct {
	Index     int // of the bar, from 0; the last is today
	Name      string
	Uptime    string // in percent; empty without results
	Down      string // how long; empty: not at all
	Incidents []dayIncident
}

// dayIncident is an incident on one of its days.
type dayIncident struct {
	Anchor string // of the incident on the page; empty while nothing is written about it
	Text   string
}

// addDays notes the days of each service on which results failed.
func (v *view) addDays() {
	for _, s := range v.all {
		for i := range s.days {
			if s.days[i].Failed > 0 {
				s.bad = append(s.bad, s.newBadDay(i, v.At))
			}
		}
	}
}

func (s *service) newBadDay(index int, at time.Time) *badDay {
	day := s.days[index]
	return &badDay{
		Index: index, Name: dateOf(firstDay(at).AddDate(0, 0, index), at), Uptime: uptime(day.Total, day.Failed),
		Down: downtime(day, at.Sub(firstDay(at).AddDate(0, 0, index))),
	}
}

// downtime is the failed share of the hours of a day that have results. passed is how much of the
// day is over, or more.
func downtime(day overview.DayCount, passed time.Duration) string {
	if day.Failed == 0 {
		return ""
	}
	seen := min(time.Duration(day.Hours)*time.Hour, max(passed, time.Minute))
	down := time.Duration(float64(seen) * float64(day.Failed) / float64(day.Total))
	if down < time.Minute {
		return "less than 1 min"
	}
	return fmt.Sprintf("about %s", took(down))
}

// addToDays adds an incident to each of the days that it was on.
func (s *service) addToDays(one *incident, at time.Time) {
	first, end := firstDay(at), one.End
	if end.IsZero() {
		end = at
	}
	from := max(0, int(one.Start.Sub(first)/day))
	for i := from; i < historyDays && !first.AddDate(0, 0, i).After(end); i++ {
		found := slices.IndexFunc(s.bad, func(d *badDay) bool { return d.Index >= i })
		if found < 0 {
			found = len(s.bad)
		}
		if found == len(s.bad) || s.bad[found].Index != i {
			s.bad = slices.Insert(s.bad, found, s.newBadDay(i, at))
		}
		entry := dayIncident{Text: one.When}
		if !one.End.IsZero() || len(one.Updates) > 0 {
			entry.Anchor = "i-" + one.ID.String()
		}
		s.bad[found].Incidents = append(s.bad[found].Incidents, entry)
	}
}

// BadDays are the days that have something to tell, newest first.
func (s *service) BadDays() []*badDay {
	days := slices.Clone(s.bad)
	slices.Reverse(days)
	return days
}

// NoData are the bars of the days without a result, such as "0-9 12".
func (s *service) NoData() string {
	var spans []string
	for i := 0; i < len(s.days); i++ {
		if s.days[i].Total > 0 {
			continue
		}
		first := i
		for i+1 < len(s.days) && s.days[i+1].Total == 0 {
			i++
		}
		span := strconv.Itoa(first)
		if i > first {
			span += "-" + strconv.Itoa(i)
		}
		spans = append(spans, span)
	}
	return strings.Join(spans, " ")
}

// decide sets the state of a group: the worst of its services. They are sorted, the worst first.
func (g *group) decide() {
	g.State = g.Services[0].state
	n := 0
	for _, s := range g.Services {
		if s.state == g.State {
			n++
		}
	}
	word := g.State.String()
	if g.State == noData {
		word = "without data"
	}
	g.Word = fmt.Sprintf("%d of %d %s", n, len(g.Services), word)
	if n == len(g.Services) {
		g.Word = "All " + word
	}
	if len(g.Services) == 1 {
		g.Word = ""
	}
}

// Open reports whether the group is shown unfolded: while something in it does not work, and on a
// page whose services one can look over.
func (g *group) Open(v *view) bool { return g.State != working || len(v.all) <= 30 }
