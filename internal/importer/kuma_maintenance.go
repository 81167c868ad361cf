// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/project"
)

// kumaWindow makes the schedule of a maintenance window.
type kumaWindow struct {
	window   *Resource
	row      kumaRow
	zone     *time.Location
	now      time.Time // as clocks in the zone show it; its location is UTC
	schedule maintenance.Schedule
}

// addMaintenance carries a maintenance over.
func (k *kumaImport) addMaintenance(row kumaRow) {
	title := row.line("title")
	if title == "" {
		title = fmt.Sprintf("maintenance %d", row.id("id"))
	}
	w := k.Add(project.KindMaintenance, title, title)
	checks := k.checksOf(w, row.ids(kumaMonitors))
	if len(checks) == 0 {
		k.Remove(w, "none of its monitors is carried over")
		return
	}
	if len(checks) > maintenance.MaxChecks {
		w.Lose("monitors", "a window names at most %d checks; use a label instead", maintenance.MaxChecks)
		checks = checks[:maintenance.MaxChecks]
	}
	schedule, err := k.scheduleOf(w, row)
	if err != nil {
		k.Remove(w, "%s", err)
		return
	}
	w.Set("name", Name(title, w.Key))
	if !row.flag("active", true) {
		w.Set("enabled", false)
	}
	w.Set("scope", Object{{"checks", checks}})
	w.Set("starts_at", maintenance.FormatWallTime(schedule.StartsAt))
	w.Set("timezone", schedule.Timezone)
	w.Set("duration", seconds(schedule.Duration))
	if schedule.RRule != "" {
		w.Set("rrule", schedule.RRule)
	}
	if schedule.Cron != "" {
		w.Set("cron", schedule.Cron)
	}
	if schedule.Until != nil {
		w.Set("until", maintenance.FormatWallTime(*schedule.Until))
	}
	if row.line("description") != "" {
		w.Lose("description", "a window has no description")
	}
}

// checksOf returns the keys of the checks of monitors; a group stands for what is below it.
func (k *kumaImport) checksOf(w *Resource, monitors []int64) []string {
	var keys []string
	for _, id := range monitors {
		m := k.monitors[id]
		switch {
		case m == nil:
		case m.line("type") == kumaGroup:
			for _, below := range k.data.monitors {
				c := k.checks[below.id("id")]
				in := slices.ContainsFunc(k.parents(below), func(parent kumaRow) bool { return parent.id("id") == id })
				if in && c != nil && !slices.Contains(keys, c.Key) {
					keys = append(keys, c.Key)
				}
			}
		case k.checks[id] == nil:
			w.Lose("monitor "+k.originOf(m), "it is not carried over")
		case !slices.Contains(keys, k.checks[id].Key):
			keys = append(keys, k.checks[id].Key)
		}
	}
	return keys
}

// scheduleOf returns the schedule of a maintenance, or why there is none.
func (k *kumaImport) scheduleOf(w *Resource, row kumaRow) (*maintenance.Schedule, error) {
	kw := kumaWindow{window: w, row: row}
	if err := kw.setZone(k.data.settings["serverTimezone"]); err != nil {
		return nil, err
	}
	local := k.options.Now.In(kw.zone)
	kw.now = time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
	var err error
	switch strategy := row.line("strategy"); strategy {
	case "single":
		err = kw.single()
	case "recurring-weekday":
		err = kw.weekly()
	case "recurring-day-of-month":
		err = kw.monthly()
	case "recurring-interval":
		err = kw.everyDays()
	case "cron":
		err = kw.cron()
	case "manual":
		err = errors.New("strategy manual: a window has a schedule; `vigil maintenance create` begins one by hand")
	default:
		err = fmt.Errorf("strategy %s: Vigil has no such schedule", strategy)
	}
	if err != nil {
		return nil, err
	}
	if kw.schedule.Duration > maintenance.MaxDuration {
		w.Lose("duration "+kw.schedule.Duration.String(), "an occurrence lasts at most 14 days")
		kw.schedule.Duration = maintenance.MaxDuration
	}
	if err := errors.Join(kw.schedule.Validate(), kw.schedule.CheckStart(k.options.Now)); err != nil {
		return nil, fmt.Errorf("strategy %s: %s", row.line("strategy"), oneLine(err.Error()))
	}
	return &kw.schedule, nil
}

// setZone takes the time zone of the maintenance, else that of the server.
func (w *kumaWindow) setZone(server string) error {
	name := w.row.line("timezone")
	if name == "" || name == "SAME_AS_SERVER" {
		name = strings.Trim(strings.TrimSpace(server), `"`)
		if name == "" {
			name = "UTC"
			w.window.Lose("timezone SAME_AS_SERVER", "the time zone of the server is not known; it is UTC in the files")
		}
	}
	zone, err := (&maintenance.Schedule{Timezone: name}).Zone()
	if err != nil {
		return fmt.Errorf("timezone %q is not known", cut(name, maxName))
	}
	w.schedule.Timezone, w.zone = name, zone
	return nil
}

// date returns a wall time of the maintenance; false without one.
func (w *kumaWindow) date(name string) (time.Time, bool) {
	text := strings.TrimSuffix(w.row.line(name), "Z")
	for _, form := range []string{
		"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05.999", "2006-01-02",
	} {
		if at, err := time.Parse(form, text); err == nil {
			return at.Truncate(time.Second), true
		}
	}
	return time.Time{}, false
}

// clock returns a time of day; false without one.
func (w *kumaWindow) clock(name string) (time.Duration, bool) {
	text := w.row.line(name)
	for _, form := range []string{"15:04", "15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, true
		}
	}
	return 0, false
}

// single occurs once, from one wall time to another.
func (w *kumaWindow) single() error {
	start, ok := w.date("start_date")
	end, ends := w.date("end_date")
	if !ok || !ends {
		return errors.New("strategy single: it has no start or no end")
	}
	if !end.After(w.now) {
		return fmt.Errorf("it has ended on %s", end.Format(time.DateOnly))
	}
	elapsed := w.instant(end).Sub(w.instant(start))
	if running := w.now.Sub(start); running > 0 && elapsed > maintenance.MaxDuration {
		w.window.Lose("start_date "+w.row.line("start_date"), "it runs already, and starts with the import in the files")
		start, elapsed = w.now, w.instant(end).Sub(w.instant(w.now))
	}
	w.schedule.StartsAt, w.schedule.Duration = start, elapsed
	return nil
}

// instant returns when clocks in the zone show a wall time.
func (w *kumaWindow) instant(wall time.Time) time.Time {
	return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, w.zone)
}

// recurring sets what the recurring strategies share: the first day, the time of day, the
// duration and the end.
func (w *kumaWindow) recurring() error {
	from, ok := w.clock("start_time")
	to, ends := w.clock("end_time")
	if !ok || !ends || from == to {
		return fmt.Errorf("strategy %s: it has no time of day that it starts and ends at", w.row.line("strategy"))
	}
	if w.schedule.Duration = to - from; to < from {
		w.schedule.Duration += 24 * time.Hour
	}
	day := w.now.Truncate(24 * time.Hour)
	if start, ok := w.date("start_date"); ok && start.After(day) {
		day = start.Truncate(24 * time.Hour)
	}
	w.schedule.StartsAt = day.Add(from)
	return w.until()
}

// until sets the end of a window that recurs.
func (w *kumaWindow) until() error {
	end, ok := w.date("end_date")
	if !ok {
		return nil
	}
	if end.Before(w.schedule.StartsAt) {
		return fmt.Errorf("it has ended on %s", end.Format(time.DateOnly))
	}
	w.schedule.Until = &end
	return nil
}

// weekly is for days of the week, 0 being Sunday.
func (w *kumaWindow) weekly() error {
	if err := w.recurring(); err != nil {
		return err
	}
	names := []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}
	var days []string
	for _, item := range w.row.list("weekdays") {
		if day := (kumaRow{"": item}).whole("", -1); day >= 0 && day <= 7 && !slices.Contains(days, names[day%7]) {
			days = append(days, names[day%7])
		}
	}
	if len(days) == 0 {
		return errors.New("strategy recurring-weekday: it has no day")
	}
	for !slices.Contains(days, names[w.schedule.StartsAt.Weekday()]) {
		w.schedule.StartsAt = w.schedule.StartsAt.AddDate(0, 0, 1)
	}
	w.schedule.RRule = "FREQ=WEEKLY;BYDAY=" + strings.Join(days, ",")
	return nil
}

// monthly is for days of the month; lastDay1 is the last one. Kuma never starts at lastDay2
// to lastDay4.
func (w *kumaWindow) monthly() error {
	if err := w.recurring(); err != nil {
		return err
	}
	var days []string
	for _, item := range w.row.list("days_of_month") {
		text := (kumaRow{"": item}).line("")
		day := (kumaRow{"": item}).whole("", 0)
		switch {
		case text == "lastDay1":
			text = "-1"
		case strings.HasPrefix(text, "lastDay"):
			w.window.Lose("daysOfMonth "+text, "Uptime Kuma does not start on this day either")
			continue
		case day < 1 || day > 31:
			continue
		}
		if !slices.Contains(days, text) {
			days = append(days, text)
		}
	}
	if len(days) == 0 {
		return errors.New("strategy recurring-day-of-month: it has no day")
	}
	w.schedule.RRule = "FREQ=MONTHLY;BYMONTHDAY=" + strings.Join(days, ",")
	return nil
}

// everyDays keeps to the days that the start date, or the latest start, gives.
func (w *kumaWindow) everyDays() error {
	if err := w.recurring(); err != nil {
		return err
	}
	days := w.row.whole("interval_day", 0)
	if days < 1 || days > 1000 {
		return fmt.Errorf("strategy recurring-interval: %q is no number of days", w.row.text("interval_day"))
	}
	origin, ok := w.date("last_start_date") // in UTC, which can be another day
	if ok {
		origin = wall(origin.In(w.zone))
	} else if origin, ok = w.date("start_date"); !ok {
		origin = w.schedule.StartsAt
	}
	day := origin.Truncate(24 * time.Hour)
	for day.Before(w.schedule.StartsAt.Truncate(24 * time.Hour)) {
		ahead := int(w.schedule.StartsAt.Sub(day)/(24*time.Hour)) / int(days) * int(days)
		day = day.AddDate(0, 0, max(ahead, int(days)))
	}
	from, _ := w.clock("start_time") // recurring has looked at it
	w.schedule.StartsAt = day.Add(from)
	w.schedule.RRule = "FREQ=DAILY"
	if days > 1 {
		w.schedule.RRule += fmt.Sprintf(";INTERVAL=%d", days)
	}
	return nil
}

// wall returns what clocks show at an instant, as a time in UTC.
func wall(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
}

// cron is for an expression of five fields, or of six with the second 0.
func (w *kumaWindow) cron() error {
	fields := strings.Fields(w.row.line("cron"))
	if len(fields) == 6 && strings.Trim(fields[0], "0") == "" {
		fields = fields[1:]
	}
	w.schedule.Cron = strings.ReplaceAll(strings.Join(fields, " "), "?", "*")
	w.schedule.Duration = time.Duration(w.row.whole("duration", 0)) * time.Second
	if w.schedule.Duration < 0 || w.schedule.Duration > 366*24*time.Hour {
		return fmt.Errorf("strategy cron: %q is no duration", w.row.text("duration"))
	}
	w.schedule.StartsAt = w.now.Truncate(24 * time.Hour)
	if start, ok := w.date("start_date"); ok && start.After(w.schedule.StartsAt) {
		w.schedule.StartsAt = start
	}
	return w.until()
}
