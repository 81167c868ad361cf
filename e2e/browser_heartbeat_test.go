// SPDX-License-Identifier: Apache-2.0

package e2e_test

import "net/http"

// heartbeatPages makes a heartbeat whose job has failed once, and looks at what its page says of it.
func (d *dashboard) heartbeatPages() namedPages {
	b := d.b
	var check struct {
		ID      string
		PingURL string `json:"ping_url"`
	}
	d.api.into(&check, http.MethodPost, "/v1/checks", object{
		"name": "Nightly backup", "type": "heartbeat",
		"config": object{"schedule": object{"cron": "0 3 * * *", "timezone": "Europe/Berlin"}, "grace_seconds": 900},
	})
	for _, end := range []string{"/start", "/2"} {
		output := "copying the shop\npg_dump: error: no space left on device\n"
		if status := ping(d.t.Context(), http.MethodPost, check.PingURL+end, output); status != http.StatusOK {
			d.t.Fatalf("a ping is answered with %d", status)
		}
	}
	page := "/app/checks/" + check.ID
	eventually(d.t, "the failure is a result", func() bool {
		var results []struct{ Success bool }
		d.api.into(&results, http.MethodGet, "/v1/checks/"+check.ID+"/results", nil)
		return len(results) == 1 && !results[0].Success
	})
	b.visit(page)
	b.shows(check.PingURL)
	b.shows("the job ended with exit code 2")
	d.api.into(nil, http.MethodPost, "/v1/ping-key", nil)
	return namedPages{
		{"ping-key", "/app/organization/ping-key"},
		{"heartbeat", page},
		{"heartbeat-edit", page + "/edit"},
		{"heartbeat-new", "/app/checks/new?type=heartbeat"},
	}
}
