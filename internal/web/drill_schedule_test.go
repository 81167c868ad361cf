// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/google/uuid"
)

// TestDrillScheduleForms makes a schedule by its form, with mistakes first, changes, pauses and
// deletes it.
func TestDrillScheduleForms(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	channel := s.channel(t, b)
	check, _ := s.statusCheck(t, email, "checkout")
	rule := s.create(t, b, "/v1/checks/"+check.String()+"/alerts",
		`{"name":"Down","condition":{"failure_threshold":1},"notification_channel_ids":["`+channel+`"]}`)
	b.get(t, http.StatusOK, "/app/drill-schedules/new").shows(t, "New schedule", "Sunday", `value="`+channel+`"`)
	form := url.Values{
		"name": {"On call"}, "recurrence.every": {"monthly"}, "recurrence.day": {"31"}, "weekday": {"3"}, "recurrence.hour": {"9"},
		"recurrence.timezone": {"Europe/Berlin"}, "of": {"channel_ids"}, "channel_ids": {channel}, "severity": {"info"},
		"expect_within_seconds": {"60"},
	}
	b.post(t, http.StatusUnprocessableEntity, "/app/drill-schedules", form).
		shows(t, "Not created yet.", `id="f-recurrence-day-error"`, `value="31"`, `value="`+channel+`" checked`)
	form.Set("recurrence.day", "28")
	form.Set("recurrence.timezone", "Here")
	b.post(t, http.StatusUnprocessableEntity, "/app/drill-schedules", form).shows(t, `id="f-recurrence-timezone-error"`)
	form.Set("recurrence.timezone", "Europe/Berlin")
	form.Set("channel_ids", uuid.NewString())
	b.post(t, http.StatusUnprocessableEntity, "/app/drill-schedules", form).shows(t, `id="f-channel_ids-error"`, "is not a channel")
	form.Set("channel_ids", channel)
	made := b.follow(t, "/app/drill-schedules", form)
	made.shows(t, "On call is created", "monthly on day 28, 09:00 (Europe/Berlin)", ", 09:00 (Europe/Berlin)", `name="revision" value="1"`,
		"No drill of it has ended yet.", `value="28"`)
	path := regexp.MustCompile(`/app/drill-schedules/[0-9a-f-]{36}`).FindString(made.text)
	b.get(t, http.StatusOK, "/app/drills").shows(t, `href="`+path+`"`, "channel Hook", "monthly on day 28, 09:00 (Europe/Berlin)", "none yet")

	form.Set("recurrence.every", "weekly")
	form.Set("of", "rule_ids")
	form.Set("rule_ids", rule)
	form.Set("revision", "1")
	b.follow(t, path, form).shows(t, "Saved", "weekly on Wednesday, 09:00 (Europe/Berlin)", `value="`+rule+`" checked`,
		`<option value="3" selected>Wednesday`)
	form.Set("name", "Mine")
	b.post(t, http.StatusPreconditionFailed, path, form).shows(t, "Not saved yet.", `value="Mine"`)
	b.get(t, http.StatusOK, "/app/drills").shows(t, "alert rule Down")
	b.follow(t, path+"/enabled", url.Values{"enabled": {"false"}}).shows(t, "On call is paused", ">Enable<", "paused")
	b.get(t, http.StatusOK, "/app/drills").shows(t, "Paused")
	b.follow(t, path+"/enabled", url.Values{"enabled": {"true"}}).shows(t, "On call is enabled", ">Pause<")

	stranger, _ := s.signUp(t)
	for _, of := range []string{path, path + "/delete"} {
		stranger.get(t, http.StatusNotFound, of)
	}
	for _, of := range []string{path, path + "/enabled", path + "/delete"} {
		stranger.post(t, http.StatusNotFound, of, url.Values{})
	}
	b.get(t, http.StatusOK, path+"/delete").shows(t, "Delete the schedule “On call”?")
	b.follow(t, path+"/delete", url.Values{}).shows(t, "On call is deleted")
	b.get(t, http.StatusNotFound, path)
}
