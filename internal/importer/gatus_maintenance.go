// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/project"
)

// globalMaintenance adds the window in which Gatus sends no alerts at all.
func (g *gatusImport) globalMaintenance() {
	v := g.root.take("maintenance")
	if v == nil {
		return
	}
	if len(g.Checks) == 0 {
		g.Miss(project.KindMaintenance, "maintenance", "there is no check that it could cover")
		return
	}
	var scope Object
	var losses []Loss
	if len(g.Checks) > maintenance.MaxChecks {
		scope.Set("all", true)
		losses = []Loss{{"maintenance", "the window covers all checks of the organization, since it can name at most 1000"}}
	} else {
		var keys []string
		for _, check := range g.Checks {
			keys = append(keys, check.Key)
		}
		scope.Set("checks", keys)
	}
	g.window(v, "maintenance", "maintenance", scope, losses)
}

// endpointMaintenance adds a window of one check.
func (g *gatusImport) endpointMaintenance(check *Resource, v *value) {
	g.window(v, "maintenance-windows of "+check.Origin, check.Key, Object{{"checks", []string{check.Key}}}, nil)
}

// window adds a maintenance window. Gatus goes on probing in it and counts the results, and
// sends no alerts.
func (g *gatusImport) window(v *value, origin, name string, scope Object, losses []Loss) {
	draft := &Resource{Kind: project.KindMaintenance, result: g.Result, Losses: losses}
	m := newMembers(v, "maintenance.", draft.Lose)
	enabled := m.truth("enabled")
	start, _ := m.scalar("start")
	duration, _ := m.duration("duration")
	zone, _ := m.scalar("timezone")
	days, problem := weekdays(m.list("every"))
	m.finish()
	at, ok := clock(start)
	location, known := vigil.LoadZone(cmp.Or(zone, "UTC"))
	switch {
	case problem != "":
	case !ok:
		problem = "start is no time such as 23:00"
	case duration < time.Second:
		problem = "duration is no duration such as 1h"
	case !known:
		problem = "the time zone " + zone + " is not known here"
	}
	if problem != "" {
		if enabled == nil || *enabled {
			g.Miss(project.KindMaintenance, origin, "%s", problem)
		}
		return
	}
	window := g.Add(project.KindMaintenance, origin, name)
	window.Losses = draft.Losses
	window.Set("name", g.name(Name("Maintenance of "+strings.TrimPrefix(origin, "maintenance-windows of "), origin), name))
	if name == "maintenance" {
		window.Set("name", "Maintenance")
	}
	if enabled != nil && !*enabled {
		window.Set("enabled", false)
	}
	window.Set("scope", scope)
	window.Set("starts_at", maintenance.FormatWallTime(firstDay(g.options.Now.In(location), days).Add(at)))
	if zone != "" && zone != "UTC" {
		window.Set("timezone", zone)
	}
	window.setWindowLength(duration)
	window.Set("rrule", rule(days))
	window.Set("uptime", "include")
}

// Bounds of the length of an occurrence.
const (
	minWindow = time.Minute
	maxWindow = 14 * 24 * time.Hour
)

func (c *Resource) setWindowLength(given time.Duration) {
	used := min(max(given.Truncate(time.Second), minWindow), maxWindow)
	if used != given {
		c.Lose("duration: "+given.String(), "the window lasts %s", seconds(used))
	}
	c.Set("duration", seconds(used))
}

// clock reads a time such as 23:00.
func clock(text string) (time.Duration, bool) {
	at, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, false
	}
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, true
}

// weekdays reads the days of a window; none are all days.
func weekdays(every []*value) ([]time.Weekday, string) {
	var days []time.Weekday
	for _, one := range every {
		day := time.Sunday
		for day <= time.Saturday && day.String() != one.text {
			day++
		}
		if day > time.Saturday {
			return nil, fmt.Sprintf("every has %q, which is no day such as Sunday", shown(one.text))
		}
		if !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	return days, ""
}

// firstDay is midnight of the first of the days that is today or later, as a wall time.
func firstDay(now time.Time, days []time.Weekday) time.Time {
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	for len(days) > 0 && !slices.Contains(days, day.Weekday()) {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// rule is the recurrence of the days.
func rule(days []time.Weekday) string {
	if len(days) == 0 {
		return "FREQ=DAILY"
	}
	names := make([]string, len(days))
	for i, day := range days {
		names[i] = strings.ToUpper(day.String()[:2])
	}
	return "FREQ=WEEKLY;BYDAY=" + strings.Join(names, ",")
}
