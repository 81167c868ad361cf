// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// How the form of a maintenance window says when it repeats: the values of its field repeat.
const (
	repeatOnce = "once"
	repeatDays = "days" // on days of the week, which are a rule of this form
	repeatRule = "rule" // by a recurrence rule or a cron expression
)

// weekRule is what the form makes of days of the week, before their names.
const weekRule = "FREQ=WEEKLY;BYDAY="

// weekDays are the days of a recurrence rule, with their names.
func weekDays() []option {
	return words(
		"MO", "Monday", "TU", "Tuesday", "WE", "Wednesday", "TH", "Thursday", "FR", "Friday", "SA", "Saturday", "SU", "Sunday",
	)
}

// daysOfRule returns the days of a rule that this form could have made; ok is false for another rule.
func daysOfRule(rule string) (days []string, ok bool) {
	list, ok := strings.CutPrefix(strings.ToUpper(strings.TrimSpace(rule)), weekRule)
	if !ok {
		return nil, false
	}
	days = strings.Split(list, ",")
	for i, day := range days {
		known := slices.ContainsFunc(weekDays(), func(o option) bool { return o.Value == day })
		if !known || slices.Contains(days[:i], day) {
			return nil, false
		}
	}
	return days, true
}

// ruleOfDays is the rule of days of the week, in their order; empty for none.
func ruleOfDays(chosen []string) string {
	var days []string
	for _, day := range weekDays() {
		if slices.Contains(chosen, day.Value) {
			days = append(days, day.Value)
		}
	}
	if len(days) == 0 {
		return ""
	}
	return weekRule + strings.Join(days, ",")
}

// dayNames words the days of a rule, such as "Mon, Wed".
func dayNames(days []string) string {
	var names []string
	for _, day := range weekDays() {
		if slices.Contains(days, day.Value) {
			names = append(names, day.Text[:3])
		}
	}
	return strings.Join(names, ", ")
}

// addRepeat declares how the window repeats.
func (f *maintenanceForm) addRepeat(stored *client.MaintenanceWindow) {
	repeat := repeatOnce
	days, weekly := daysOfRule(stored.Rrule)
	switch {
	case weekly:
		repeat = repeatDays
	case stored.Rrule != "" || stored.Cron != "":
		repeat = repeatRule
	}
	chosen := f.add(field{Name: "repeat", Label: "Repeats", Type: "select", Value: repeat, Options: words(
		repeatOnce, "once", repeatDays, "on days of the week", repeatRule, "by a rule",
	)})
	if f.values != nil {
		days = f.values["day"]
		if !f.values.Has("repeat") { // a form of before, whose rule says it
			chosen.Value = repeatRule
			for i := range chosen.Options {
				chosen.Options[i].Chosen = chosen.Options[i].Value == repeatRule
			}
		}
	}
	f.add(field{Name: "day", Label: "Days", Type: "group"})
	f.Days = weekDays()
	for i := range f.Days {
		f.Days[i].Chosen = slices.Contains(days, f.Days[i].Value)
	}
}

// repeats returns the rule and the cron expression that the form says.
func (f *maintenanceForm) repeats() (rule, cron string) {
	switch f.get("repeat") {
	case repeatOnce:
		return "", ""
	case repeatDays:
		return ruleOfDays(f.values["day"]), ""
	}
	return strings.TrimSpace(f.get("rrule")), strings.TrimSpace(f.get("cron"))
}

// lacksDays says that the window repeats on days and names none, and reports whether it is so.
func (f *maintenanceForm) lacksDays() bool {
	if f.get("repeat") != repeatDays || ruleOfDays(f.values["day"]) != "" {
		return false
	}
	f.Status = 422
	return f.reject("day", "choose at least one day")
}
