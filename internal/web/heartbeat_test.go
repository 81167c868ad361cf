// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
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
	page.shows(t, `<th scope="row" class="cut">Heartbeat</th>`, "It comes with the first ping of its job.")
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
	o.get(t, http.StatusOK, "/app/checks/new?type=http").shows(t, "Test probes once")
}
