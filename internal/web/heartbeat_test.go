// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestHeartbeatPages: a heartbeat is in one place, which its page names once, and its forms offer no
// test of it.
func TestHeartbeatPages(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var made struct{ ID string }
	o.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": "Backup", "type": "heartbeat", "config": map[string]any{"schedule": map[string]any{"every_seconds": 300}},
	}, &made)
	path := "/app/checks/" + made.ID
	page := o.get(t, http.StatusOK, path)
	page.shows(t, `<th scope="row" class="cut">Heartbeat</th>`, "It comes with the first ping of its job.", ">Loop</h2>")
	page.without(t, ">Regions</h2>")
	loops := o.get(t, http.StatusOK, path+"/regions", "Hx-Request", "true")
	if n := strings.Count(strings.ToLower(loops.text), "heartbeat"); n != 1 {
		t.Errorf("its place is named %d times: %s", n, loops.text)
	}
	for form, text := range map[string]string{
		path + "/edit":                   "The address that its job pings stays the same",
		"/app/checks/new?type=heartbeat": "shows the address that its job pings",
	} {
		opened := o.get(t, http.StatusOK, form)
		opened.shows(t, "What its job does", text)
		opened.without(t, "Test probes once", "Test before you save")
	}
	o.get(t, http.StatusOK, "/app/checks/new?type=http").shows(t, "Test probes once", "of the regions")
}

// TestHeartbeatForm: a heartbeat has one place, so its form asks for no policy of regions, and it costs a run at each of
// its times. A job that did not run notifies at once.
func TestHeartbeatForm(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	failures := func(p *opened) string { return p.values.Get("rule.condition.failure_threshold") }
	p := o.view(t, "/app/checks/new?type=http")
	if got := failures(p); got != "2" {
		t.Errorf("http: after %q failures", got)
	}
	if p = o.view(t, "/app/checks/new?type=heartbeat"); failures(p) != "1" || p.values.Get("rule.region_policy") != "majority" {
		t.Errorf("heartbeat: after %q failures in %q of the regions", failures(p), p.values.Get("rule.region_policy"))
	}
	shown := o.get(t, http.StatusOK, "/app/checks/new?type=heartbeat")
	shown.without(t, "of the regions", "executions an hour")
	for typed, want := range map[string]string{"2": "1", "5": "5"} {
		p = o.open(t, http.MethodPost, "/app/checks/new?type=heartbeat", url.Values{
			"type": {"heartbeat"}, "from": {"http"}, "do": {"type"}, "key": {"abc"}, "rule.condition.failure_threshold": {typed},
		})
		if got := failures(p); got != want {
			t.Errorf("%s failures of http become %q", typed, got)
		}
	}
	p = o.view(t, "/app/checks/new?type=heartbeat")
	p.enter(t, "name", "Hourly")
	p.enter(t, "config.schedule.every_seconds", "3600")
	p.enter(t, "config.grace_seconds", "-1")
	if p = p.press(t, ""); !strings.Contains(p.raw, "1 execution an hour") {
		t.Errorf("status %d, %s", p.status, p.summary())
	}
}
