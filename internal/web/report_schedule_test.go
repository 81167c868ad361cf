// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestReportScheduleForms makes a schedule of reports by its form, with mistakes first, changes, pauses and deletes it.
func TestReportScheduleForms(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	channel := s.channel(t, b)
	b.get(t, http.StatusOK, "/app/reports").shows(t, "No schedule yet.", "/app/reports/schedules/new")
	b.get(t, http.StatusOK, "/app/reports/schedules/new").shows(t, "New schedule", "Sunday", `value="`+channel+`"`, "each quarter")
	form := url.Values{
		"name": {"Shop"}, "recurrence.every": {"quarterly"}, "recurrence.day": {"31"}, "weekday": {"3"}, "recurrence.hour": {"9"},
		"recurrence.timezone": {"Europe/Berlin"}, "labels": {"team=shop tier"}, "target_percentage": {"99.5"}, "channel_ids": {channel},
	}
	const path = "/app/reports/schedules"
	for _, wrong := range []struct{ member, value, field string }{
		{"recurrence.day", "31", "recurrence-day"},
		{"recurrence.day", "x", "recurrence-day"},
		{"recurrence.hour", "24", "recurrence-hour"},
		{"recurrence.timezone", "Here", "recurrence-timezone"},
		{"recurrence.every", "daily", "recurrence-every"},
		{"target_percentage", "100", "target_percentage"},
		{"target_percentage", "NaN", "target_percentage"},
		{"labels", "team=shop =", "labels"},
		{"name", "", "name"},
		{"name", strings.Repeat("n", 300), "name"},
		{"channel_ids", uuid.NewString(), "channel_ids"},
		{"channel_ids", "<script>", "channel_ids"},
	} {
		with := url.Values{}
		for name, values := range form {
			with[name] = values
		}
		with.Set("recurrence.day", "28")
		with.Set(wrong.member, wrong.value)
		page := b.post(t, http.StatusUnprocessableEntity, path, with)
		page.shows(t, "Not created yet.", `id="f-`+wrong.field+`-error"`)
		if strings.Contains(page.text, "<script>") {
			t.Errorf("%s is in the page as it was sent", wrong.member)
		}
	}
	form.Set("recurrence.day", "28")
	made := b.follow(t, path, form)
	made.shows(t, "Shop is created", "quarterly on day 28, 09:00 (Europe/Berlin)", ", 09:00 (Europe/Berlin)", `name="revision" value="1"`,
		`value="team=shop tier"`, `value="99.5"`, `value="`+channel+`" checked`, "Next report")
	one := regexp.MustCompile(path + `/[0-9a-f-]{36}`).FindString(made.text)
	b.get(t, http.StatusOK, "/app/reports").shows(t, `href="`+one+`"`, "Hook", "quarterly on day 28", "none yet")

	form.Set("recurrence.every", "weekly")
	form.Set("revision", "1")
	b.follow(t, one, form).shows(t, "Saved", "weekly on Wednesday, 09:00 (Europe/Berlin)", `<option value="3" selected>Wednesday`)
	form.Set("name", "Mine")
	b.post(t, http.StatusPreconditionFailed, one, form).shows(t, "Not saved yet.", `value="Mine"`)
	b.follow(t, one+"/enabled", url.Values{"enabled": {"false"}}).shows(t, "Shop is paused", ">Enable<", "paused")
	b.follow(t, one+"/enabled", url.Values{"enabled": {"true"}}).shows(t, "Shop is enabled", ">Pause<")
	form.Set("name", strings.Repeat("n", 1<<20))
	b.post(t, http.StatusBadRequest, one, form).shows(t, "The form could not be read.")

	stranger, _ := s.signUp(t)
	form.Set("name", "Stolen")
	for _, of := range []string{one, one + "/delete"} {
		stranger.get(t, http.StatusNotFound, of)
		stranger.post(t, http.StatusNotFound, of, form)
	}
	stranger.post(t, http.StatusNotFound, one+"/enabled", url.Values{"enabled": {"false"}})
	s.browser(t).get(t, http.StatusSeeOther, one)
	s.browser(t).post(t, http.StatusSeeOther, path, form)

	reader := s.joins(t, b, "reader@example.com", "viewer")
	reader.get(t, http.StatusOK, one).shows(t, "Your role reads schedules.")
	reader.post(t, http.StatusForbidden, one, form)
	reader.post(t, http.StatusForbidden, path, form)

	b.get(t, http.StatusOK, one+"/delete").shows(t, "Delete the schedule “Shop”?")
	b.follow(t, one+"/delete", nil).shows(t, "Shop is deleted", "No schedule yet.")
	b.get(t, http.StatusNotFound, one)
}
