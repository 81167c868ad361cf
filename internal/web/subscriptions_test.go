// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
)

// TestSubscriptionForms subscribes a channel by the form, with mistakes first, changes the
// subscription and deletes it.
func TestSubscriptionForms(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	b.get(t, http.StatusOK, "/app/subscriptions").shows(t, "No subscription yet", `href="/app/subscriptions/new"`)
	check, _ := s.statusCheck(t, email, "checkout prod")
	b.follow(t, "/app/channels", url.Values{
		"type": {"webhook"}, "name": {"Ops hook"}, "config.url": {"https://hooks.example.com/"}, "enabled": {"true"},
	})
	page := b.get(t, http.StatusOK, "/app/subscriptions/new")
	page.shows(t, "checkout prod", "Ops hook", `value="incident.*" checked`)
	channel := regexp.MustCompile(`<option value="([0-9a-f-]{36})"[^>]*>Ops hook`).FindStringSubmatch(page.text)
	if channel == nil {
		t.Fatal("the channel is not offered")
	}
	form := url.Values{"name": {"All of it"}, "channel_id": {channel[1]}, "enabled": {"true"}}
	b.post(t, http.StatusUnprocessableEntity, "/app/subscriptions", form).shows(t, "Not created yet.", `id="f-events"`)
	form["event"] = []string{"incident.*", "check.paused"}
	form.Set("selector.labels", "Team")
	b.post(t, http.StatusUnprocessableEntity, "/app/subscriptions", form).
		shows(t, `id="f-selector-labels-error"`, `value="check.paused" checked`)
	form.Set("selector.labels", "team=none")
	made := b.follow(t, "/app/subscriptions", form)
	made.shows(t, "All of it is created", "selects no check now", `name="revision" value="1"`)
	path := regexp.MustCompile(`/app/subscriptions/[0-9a-f-]{36}`).FindString(made.text)
	form.Set("selector.labels", "")
	form.Set("selector.severity_min", "warning")
	form.Set("named", "true")
	form.Set("check", check.String())
	form.Set("revision", "1")
	form.Del("enabled")
	b.follow(t, path, form).shows(t, "Saved", `value="`+check.String()+`" checked`, "Disabled")
	b.post(t, http.StatusPreconditionFailed, path, form).shows(t, "Not saved yet.")
	b.get(t, http.StatusOK, "/app/subscriptions").shows(t, "All of it", "Ops hook", "incident.*, check.paused", "1 check, warning at least")
	b.follow(t, "/app/channels/"+channel[1]+"/enabled", url.Values{"enabled": {"false"}})
	form.Set("enabled", "true")
	form.Set("revision", "2")
	b.follow(t, path, form).shows(t, "the channel is disabled and gets nothing until it is enabled")
	b.get(t, http.StatusOK, "/app/subscriptions").shows(t, "Enabled, but its channel is disabled")
	b.get(t, http.StatusOK, path+"/delete").shows(t, "Delete the subscription “All of it”?")
	b.follow(t, path+"/delete", url.Values{}).shows(t, "All of it is deleted", "No subscription yet")
	b.get(t, http.StatusNotFound, path)
}
