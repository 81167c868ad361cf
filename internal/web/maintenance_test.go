// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"
)

// TestMaintenanceForms plans a window by its form, with mistakes first, looks when it occurs,
// changes, ends and deletes it.
func TestMaintenanceForms(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	b.get(t, http.StatusOK, "/app/maintenance").shows(t, "No maintenance window yet", `href="/app/maintenance/new"`)
	check, _ := s.statusCheck(t, email, "checkout prod")
	b.get(t, http.StatusOK, "/app/maintenance/new").shows(t, "checkout prod", `value="`+check.String()+`"`, "Plan maintenance")
	form := url.Values{
		"name": {"Upgrade"}, "starts_at": {time.Now().UTC().Add(-10 * time.Minute).Format("2006-01-02T15:04")}, "timezone": {"UTC"},
		"duration_seconds": {"90"}, "rrule": {"FREQ=HOURLY"}, "probing": {"continue"}, "uptime": {"exclude"}, "enabled": {"true"},
	}
	b.post(t, http.StatusUnprocessableEntity, "/app/maintenance", form).
		shows(t, "Not planned yet.", `id="f-scope"`, "must name what is maintained")
	form.Set("check", check.String())
	b.post(t, http.StatusUnprocessableEntity, "/app/maintenance", form).shows(t, `id="f-rrule-error"`, "FREQ=HOURLY is not supported",
		`value="`+check.String()+`" checked`)
	form.Set("rrule", "FREQ=DAILY")
	form.Set("preview", "true")
	shown := b.post(t, http.StatusOK, "/app/maintenance", form)
	shown.shows(t, "It would occur")
	if n := len(regexp.MustCompile(`<tr>\s*<td>`).FindAllString(shown.text, -1)); n != 5 {
		t.Errorf("%d occurrences are shown", n)
	}
	form.Del("preview")
	made := b.follow(t, "/app/maintenance", form)
	made.shows(t, "Upgrade is planned", "In maintenance", "Next occurrences", "End now", `name="revision" value="1"`)
	path := regexp.MustCompile(`/app/maintenance/[0-9a-f-]{36}`).FindString(made.text)
	b.get(t, http.StatusOK, "/app/maintenance?state=active").shows(t, "Upgrade", "FREQ=DAILY", "1 h 30 min", "1 check", "until ")
	b.get(t, http.StatusOK, "/app/maintenance?state=ended").shows(t, "No window is in this state.")
	b.get(t, http.StatusOK, "/app/checks/"+check.String()).shows(t, "In maintenance", "“Upgrade” until ", `href="`+path+`"`)

	form.Set("revision", "1")
	form.Set("name", "Upgrade 2")
	form.Set("scope.labels", "team=payments\n team=mail ")
	b.follow(t, path, form).shows(t, "Saved", `value="Upgrade 2"`, "team=mail\nteam=payments")
	b.post(t, http.StatusPreconditionFailed, path, form).shows(t, "Not saved yet.")
	b.follow(t, path+"/end", url.Values{}).shows(t, "Upgrade 2 has ended", "Upcoming")
	b.get(t, http.StatusOK, path+"/delete").shows(t, "Delete the maintenance window “Upgrade 2”?")
	b.follow(t, path+"/delete", url.Values{}).shows(t, "Upgrade 2 is deleted", "No maintenance window yet")
	b.get(t, http.StatusNotFound, path)
}

// TestMaintenanceByDaysOfTheWeek plans a window by days, time and zone, opens it again, and follows it over
// the days on which the clocks change.
func TestMaintenanceByDaysOfTheWeek(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	check, _ := s.statusCheck(t, email, "checkout prod")
	form := url.Values{
		"name":             {"Patches"},
		"starts_at":        {"2027-03-20T02:30"},
		"timezone":         {"Europe/Berlin"},
		"duration_seconds": {"90"},
		"repeat": {
			"days",
		},
		"rrule":   {"left over"},
		"probing": {"continue"},
		"uptime":  {"exclude"},
		"enabled": {"true"},
		"check":   {check.String()},
	}
	b.post(t, http.StatusUnprocessableEntity, "/app/maintenance", form).shows(t, "choose at least one day", `href="#f-day"`)
	form["day"] = []string{"SU", "WE"}
	form.Set("preview", "true")
	shown := b.post(t, http.StatusOK, "/app/maintenance", form, "Hx-Request", "true")
	// On 28 March clocks go from 02:00 to 03:00, so the planned time does not exist.
	shown.shows(
		t,
		"It would occur",
		"Sun 21 Mar 2027, 02:30",
		"Wed 24 Mar 2027, 02:30",
		"Sun 28 Mar 2027, 03:00",
		"Clocks skip the planned time",
		"Wed 31 Mar 2027, 02:30",
		"Sun 4 Apr 2027, 02:30",
	)
	shown.without(t, "Wed 7 Apr 2027")
	form.Set("starts_at", "2027-10-30T02:30")
	b.post(t, http.StatusOK, "/app/maintenance", form, "Hx-Request", "true").shows(t, "Sun 31 Oct 2027, 02:30", "Sun 31 Oct 2027, 03:00",
		"Clocks are set back by 1 h meanwhile.")
	form.Set("duration_seconds", "0")
	b.post(t, http.StatusOK, "/app/maintenance", form, "Hx-Request", "true").shows(t, "It does not occur yet. To change:", "Duration, minutes")
	form.Set("duration_seconds", "90")

	form.Del("preview")
	made := b.follow(t, "/app/maintenance", form)
	made.shows(t, "Patches is planned", `value="days" selected`, `value="WE" checked`, `value="SU" checked`, `value="FREQ=WEEKLY;BYDAY=WE,SU"`)
	made.without(t, `value="MO" checked`)
	b.get(t, http.StatusOK, "/app/maintenance").shows(t, "Wed, Sun")
	path := regexp.MustCompile(`/app/maintenance/[0-9a-f-]{36}`).FindString(made.text)

	// What is stored opens in the form again, and saving it changes nothing.
	form.Set("revision", "1")
	b.follow(t, path, form).shows(t, "Saved", `value="days" selected`, `value="WE" checked`)
	for rule, repeat := range map[string]string{
		"FREQ=WEEKLY;BYDAY=MO": "days", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO": "rule",
		"FREQ=MONTHLY;BYDAY=MO": "rule", "": "once",
	} {
		form.Del("revision")
		form.Set("repeat", "rule")
		form.Set("rrule", rule)
		b.follow(t, path, form).shows(t, "Saved", `value="`+repeat+`" selected`)
	}
}
