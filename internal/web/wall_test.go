// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestWall: the wall shows what fails first and large, with why, then what is calm; it takes a label, and changes by itself. It
// has nothing to press.
func TestWall(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.b.get(t, http.StatusOK, "/app/wall").shows(t, "No check yet.")
	down, calm := f.check(t, "down.example"), f.check(t, "calm.example")
	f.result(t, down, 5, "")
	f.result(t, calm, 5, "")
	wall := f.b.get(t, http.StatusOK, "/app/wall")
	wall.shows(t, `data-theme="dark"`, "Nothing fails.", "down.example", "calm.example", "<b>2</b> passing", "<title>Wall · Vigil</title>")
	wall.without(t, "<button", "<form", `id="side"`)
	events := f.b.stream(t, "page=wall")
	events.until(t, "event: hello")
	f.keepFailing(t, down, 4, func() bool { return events.has(`id="wall-trouble"`) })
	events.until(t, `"title":"(1) Wall","icon":"/app/tab-icon/1"`)
	wall = f.b.get(t, http.StatusOK, "/app/wall")
	trouble, rest, _ := strings.Cut(wall.text, `id="wall-calm"`)
	if !strings.Contains(trouble, "down.example") || strings.Contains(rest, "down.example") || !strings.Contains(rest, "calm.example") {
		t.Error("what fails does not come first")
	}
	f.b.get(t, http.StatusOK, "/app/wall?label=team%3Dshop").shows(t, "team=shop", "No check yet.")
}

// TestTabIcon: the tab has the number of failing checks in its title and its icon, which anybody may read and which draws
// no other number.
func TestTabIcon(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	id := f.check(t, "a.example")
	f.result(t, id, 5, "")
	f.b.get(t, http.StatusOK, "/app").shows(t, "<title>Checks · Vigil</title>", `rel="icon" type="image/svg+xml" data-own="/app/static/icon.`)
	f.keepFailing(t, id, 4, func() bool { return strings.Contains(f.b.get(t, http.StatusOK, "/app").text, "<title>(1) Checks") })
	f.b.get(t, http.StatusOK, "/app/channels").shows(t, "<title>(1) ", `href="/app/tab-icon/1"`)
	for path, status := range map[string]int{
		"1": 200, "42": 200, "99": 200, "100": 404, "0": 404, "-1": 404, "x": 404, "%3Cscript%3E": 404, "1e1": 404,
	} {
		got := f.b.get(t, status, "/app/tab-icon/"+path)
		if status == http.StatusOK && !strings.Contains(got.text, ">"+path+"</text>") {
			t.Errorf("%s: %s", path, got.text)
		}
	}
}

// TestRulesOfManyChecks: each rule on the page of all rules names its check, however many checks there are.
func TestRulesOfManyChecks(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var channel struct{ ID string }
	o.call(t, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "ops", "type": "webhook", "config": map[string]any{"url": "https://hook.example.com/"},
	}, &channel)
	for i := range 105 { // the newest come first where names are looked up
		var made struct{ ID string }
		o.call(t, http.MethodPost, "/v1/checks", map[string]any{
			"name": fmt.Sprintf("check %03d", i), "type": "heartbeat", "config": map[string]any{"schedule": map[string]any{"every_seconds": 300}},
		}, &made)
		if i == 0 || i == 104 {
			o.call(t, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
				"name": "down", "notify_on": "unhealthy", "condition": map[string]any{"failure_threshold": 1},
				"notification_channel_ids": []string{channel.ID},
			}, nil)
		}
	}
	page := o.get(t, http.StatusOK, "/app/rules")
	page.shows(t, ">check 000</a>", ">check 104</a>", `href="/app/rules" aria-current="page"`)
	page.without(t, "a deleted check")
}
