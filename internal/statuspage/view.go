// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// historyDays is how many days the bars show, and incidentDays how many the incidents.
const (
	historyDays  = 90
	incidentDays = 30
)

// view is a status page at a time, ready to be written in any form.
type view struct {
	Page overview.StatusPage
	At   time.Time // UTC, of the whole minute
	URL  string
	// Feed and JSON are the addresses of its other forms, and Subscribe that of the form for
	// readers; empty: they cannot. Picture is that of the logo; empty: there is none.
	Feed, JSON, Subscribe, Picture string
	State                          state
	Headline                       string
	Detail                         string
	Groups                         []group
	Open                           []incident // that have updates or say more than the headline
	// Maintenance runs or is announced, the earliest first.
	Maintenance []maintenance
	Days        []incidentDay
	// Earlier has the incidents of the days before those, which only the bars lead to.
	Earlier []incidentDay
	all     []*service
	byID    map[uuid.UUID]*service
	entries []incident // newest first, for feed and JSON
}

type group struct {
	Name     string
	Services []*service
	// State is the worst of its services, and Word says how many have it.
	State state
	Word  string
}

type incidentDay struct {
	Date      time.Time
	Name      string
	Incidents []incident
}

// incident is an incident that the public may know of.
type incident struct {
	ID       uuid.UUID
	Title    string
	Start    time.Time
	End      time.Time // zero while it is open
	When     string
	From     string // empty: not known
	Updates  []update
	changed  time.Time
	services string
	effect   state
}

type update struct {
	id    uuid.UUID
	State string // capitalized
	state string
	Text  string
	At    time.Time
	When  string
}

// newView makes the page of a report.
func newView(report *overview.StatusReport, days map[uuid.UUID]map[time.Time]overview.DayCount, at time.Time, where spot) *view {
	at = at.UTC().Truncate(time.Minute)
	v := &view{Page: report.Page, At: at, URL: where.base, byID: make(map[uuid.UUID]*service)}
	v.address(where)
	for _, listed := range report.Page.Groups {
		g := group{Name: listed.Name}
		for _, check := range listed.Checks {
			s := &service{name: check.Name, days: lastDays(days[check.CheckID], at)}
			s.decide(report.Checks[check.CheckID], openIncident(report.Incidents, check.CheckID))
			v.byID[check.CheckID] = s
			g.Services, v.all = append(g.Services, s), append(v.all, s)
		}
		slices.SortStableFunc(g.Services, func(a, b *service) int { return cmp.Compare(a.state, b.state) })
		if len(g.Services) > 0 {
			g.decide()
			v.Groups = append(v.Groups, g)
		}
	}
	v.decide()
	v.addDays()
	for i := range report.Maintenance {
		v.addMaintenance(&report.Maintenance[i])
	}
	for i := range report.Incidents {
		v.addIncident(&report.Incidents[i], v.byID[report.Incidents[i].CheckID])
	}
	return v
}

// service returns the service of a check, nil for one that the page does not show.
func (v *view) service(check uuid.UUID) *service { return v.byID[check] }

func openIncident(all []overview.PublicIncident, check uuid.UUID) *overview.PublicIncident {
	i := slices.IndexFunc(all, func(one overview.PublicIncident) bool { return one.CheckID == check && one.ResolvedAt == nil })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// firstDay is the oldest day of the bars.
func firstDay(at time.Time) time.Time { return midnight(at).AddDate(0, 0, 1-historyDays) }

func midnight(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

func lastDays(days map[time.Time]overview.DayCount, at time.Time) []overview.DayCount {
	list := make([]overview.DayCount, historyDays)
	for i := range list {
		list[i] = days[firstDay(at).AddDate(0, 0, i)]
	}
	return list
}

// decide words the verdict over all services.
func (v *view) decide() {
	var failed, slowed, stale, paused []string
	var regions, failingIn []string
	var since time.Time
	partial, known := true, false
	for _, s := range v.all {
		known = known || s.state != noData
		regions = append(regions, s.checked...)
		if s.paused {
			paused = append(paused, s.name)
		}
		if s.stale {
			stale = append(stale, s.name)
		}
		switch s.state {
		case failing:
			failed, failingIn, partial = append(failed, s.name), append(failingIn, s.failingIn...), partial && s.partial
			since = earliest(since, s.since)
		case slow:
			slowed = append(slowed, s.name)
		case working, noData:
		}
	}
	others := ""
	if len(failed)+len(slowed)+len(stale)+len(paused) < len(v.all) {
		others = " Everything else works."
	}
	if len(paused) > 0 {
		others = " " + subject(paused) + " paused." + others
	}
	if len(stale) > 0 {
		others = " " + noRecent(stale) + "." + others
	}
	switch {
	case len(failed) > 0:
		v.State, v.Headline = failing, subject(failed)+" failing"
		if partial {
			v.Headline += " in some regions"
		}
		v.Detail = v.seen(since, continents(failingIn))
		if len(slowed) > 0 {
			v.Detail += " " + subject(slowed) + " slow."
		}
		v.Detail += others
	case len(slowed) > 0:
		v.State, v.Headline = slow, subject(slowed)+" slow"
		for _, s := range v.all {
			if s.state == slow {
				since = earliest(since, s.since)
			}
		}
		v.Detail = v.seen(since, nil) + others
	case len(stale) > 0 && known:
		v.State, v.Headline = noData, noRecent(stale)
		v.Detail = strings.TrimPrefix(others, " "+v.Headline+". ")
	case len(stale) > 0:
		v.State, v.Headline, v.Detail = noData, "No recent data", "The last results are too old to say what works."
	case known && len(paused) > 0:
		v.State, v.Headline = working, "Everything works"
		v.Detail = subject(paused) + " paused. " + checkedFrom(regions)
	case len(paused) > 0 && len(paused) == len(v.all):
		v.State, v.Headline, v.Detail = noData, "Paused", "Nothing is checked at the moment."
	case known:
		v.State, v.Headline, v.Detail = working, "Everything works", checkedFrom(regions)
	default:
		v.State, v.Headline, v.Detail = noData, "No data yet", "The first results are on their way."
	}
	v.Detail = strings.TrimSpace(v.Detail)
}

// checkedFrom names the continents of regions. Heartbeats and the locations of an organization have none, and
// where they are is not for the public.
func checkedFrom(regions []string) string {
	if names := continents(regions); len(names) > 0 {
		return "Checked from " + vigil.JoinWords(names) + "."
	}
	return ""
}

// noRecent says that services have no recent results.
func noRecent(names []string) string { return "No recent data for " + vigil.JoinWords(names) }

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// seen says since when and from where something is seen.
func (v *view) seen(since time.Time, from []string) string {
	switch {
	case since.IsZero() && len(from) == 0:
		return ""
	case since.IsZero():
		return "Seen from " + vigil.JoinWords(from) + "."
	case len(from) == 0:
		return "Since " + clock(since.UTC(), v.At) + " UTC."
	}
	return "Since " + clock(since.UTC(), v.At) + " UTC, seen from " + vigil.JoinWords(from) + "."
}

// addIncident adds an incident, if the public saw it or people wrote about it.
func (v *view) addIncident(from *overview.PublicIncident, of *service) {
	if of == nil || !from.Failing && !from.Slow && len(from.Updates) == 0 {
		return
	}
	one := incident{ID: from.ID, Start: from.StartedAt.UTC(), changed: from.StartedAt.UTC(), services: of.name, effect: working}
	switch {
	case from.Failing:
		one.effect = failing
	case from.Slow:
		one.effect = slow
	}
	one.Title = incidentTitle(of.name, one.effect, from.ResolvedAt == nil)
	if from.ResolvedAt != nil {
		one.End, one.changed = from.ResolvedAt.UTC(), from.ResolvedAt.UTC()
	}
	one.When = v.period(one.Start, one.End)
	if from.Failing {
		one.From = place(from.Regions, of.regions)
	}
	for _, u := range from.Updates {
		at := u.CreatedAt.UTC()
		one.Updates = append(one.Updates, update{
			id: u.ID, State: capitalized(string(u.State)), state: string(u.State), Text: u.Text, At: at, When: clock(at, v.At) + " UTC",
		})
		if at.After(one.changed) {
			one.changed = at
		}
	}
	if one.End.IsZero() || !one.End.Before(midnight(v.At).AddDate(0, 0, 1-incidentDays)) {
		v.entries = append(v.entries, one)
	}
	of.addToDays(&one, v.At)
	if one.End.IsZero() {
		if len(one.Updates) > 0 {
			v.Open = append(v.Open, one)
		}
		return
	}
	date, into := midnight(one.Start), &v.Days
	if date.Before(midnight(v.At).AddDate(0, 0, 1-incidentDays)) {
		into = &v.Earlier
	}
	if n := len(*into); n == 0 || !(*into)[n-1].Date.Equal(date) {
		*into = append(*into, incidentDay{Date: date, Name: dateOf(date, v.At)})
	}
	last := &(*into)[len(*into)-1]
	last.Incidents = append(last.Incidents, one)
}

func incidentTitle(name string, effect state, open bool) string {
	verb := " was "
	if open {
		verb = " is "
	}
	switch effect {
	case failing, slow:
		return name + verb + effect.String()
	case working, noData:
	}
	return name
}

// period is from when to when an incident was, on the page.
func (v *view) period(start, end time.Time) string {
	if end.IsZero() {
		return "since " + clock(start, v.At) + " UTC"
	}
	until := end.Format("15:04")
	if !sameDay(start, end) {
		until = dateOf(end, v.At) + ", " + until
	}
	return start.Format("15:04") + " to " + until + " UTC, " + took(end.Sub(start))
}

// place names the regions of an incident among those of its check.
func place(seen, all []string) string {
	if len(all) > 1 && !slices.ContainsFunc(all, func(key string) bool { return !slices.Contains(seen, key) }) {
		return "from all regions"
	}
	if names := continents(seen); len(names) > 0 {
		return "from " + vigil.JoinWords(names)
	}
	return ""
}

func capitalized(word string) string {
	if word == "" {
		return ""
	}
	return string(word[0]-'a'+'A') + word[1:]
}

// address sets the addresses of what belongs to the page.
func (v *view) address(where spot) {
	v.Feed, v.JSON = where.base+".atom", where.base+".json"
	if where.atHost {
		v.Feed, v.JSON = where.base+"/status.atom", where.base+"/status.json"
	}
	if v.Page.Subscriptions {
		v.Subscribe = formAction(where, "subscribe")
	}
	if v.Page.Logo {
		v.Picture = formAction(where, "logo")
	}
}
