// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// place is a location with the token of its agents.
type place struct {
	ID    string `json:"id"`
	Key   string `json:"key"`
	Token string `json:"token"`
	State string `json:"state"`
}

// newPlace makes a location.
func newPlace(c client, name string) place {
	c.t.Helper()
	var made place
	c.into(&made, http.MethodPost, "/v1/locations", object{"name": name})
	if made.Token == "" || made.State != "never" {
		c.t.Fatalf("made %+v", made)
	}
	return made
}

// runAgent runs an agent of a location, which may probe this machine.
func runAgent(t *testing.T, platform string, at place, args ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(at.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return launchCommand(t, nil, binary, append([]string{
		"agent", "--url", platform, "--token-file", file, "--data-dir", t.TempDir(), "--allow", "127.0.0.0/8", "--canaries", "off",
	}, args...)...)
}

// TestAgent follows a check that an agent probes: its results, an incident, a test by hand, and the silence of the
// location when the agent is gone.
func TestAgent(t *testing.T) {
	t.Parallel()
	p, c := shared(t)
	site := newTarget(t)
	office := newPlace(c, "Office")
	var made check
	c.into(&made, http.MethodPost, "/v1/checks", httpCheck("intranet", site.URL+"/up", 2, office.Key))
	var channel struct{ ID string }
	c.into(&channel, http.MethodPost, "/v1/notification-channels", object{
		"name": "ops", "type": "webhook", "config": object{"url": "http://127.0.0.1:9/"},
	})
	c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", object{
		"name": "down", "notify_on": "both", "condition": object{"failure_threshold": 2},
		"notification_channel_ids": []string{channel.ID},
	})
	path := "/v1/checks/" + made.ID
	if r := c.do(http.MethodPost, path+"/test", nil); r.Status != http.StatusServiceUnavailable || !strings.Contains(r.Error, "No agent") {
		t.Errorf("a test without an agent: %+v", r)
	}
	agent := runAgent(t, p.ready.APIURL, office)
	eventually(t, "the agent's first results are there", func() bool { return len(resultsOf(c, path)) >= 3 })
	for _, r := range resultsOf(c, path) {
		if r.Region != office.Key || !r.Success {
			t.Errorf("%+v", r)
		}
	}
	eventually(t, "the location is online", func() bool {
		c.into(&office, http.MethodGet, "/v1/locations/"+office.ID, nil)
		return office.State == "online"
	})
	var tested result
	c.into(&tested, http.MethodPost, path+"/test?dry_run=true", nil)
	if !tested.Success || tested.Region != office.Key {
		t.Errorf("a test by hand: %+v", tested)
	}
	var tried []result
	c.into(&tried, http.MethodPost, "/v1/checks/try", object{
		"type": "http", "config": object{"url": site.URL + "/tried"}, "regions": []string{office.Key},
	})
	if len(tried) != 1 || !tried[0].Success || site.count("/tried") != 1 {
		t.Errorf("a config that was tried: %+v", tried)
	}
	incidents := func(status string) (n int) {
		var list []object
		c.into(&list, http.MethodGet, "/v1/incidents?check_id="+made.ID+"&status="+status, nil)
		return len(list)
	}
	site.broken.Store(true)
	eventually(t, "an incident opens", func() bool { return incidents("active") == 1 })
	site.broken.Store(false)
	eventually(t, "it resolves", func() bool { return incidents("resolved") == 1 })

	c.into(nil, http.MethodPut, path, object{"config": object{"url": site.URL + "/moved"}})
	eventually(t, "the agent follows a change", func() bool { return site.count("/moved") >= 2 })
	agent.kill()
	count := site.count("/moved")
	second := runAgent(t, p.ready.APIURL, office)
	eventually(t, "another agent takes over", func() bool { return site.count("/moved") > count+1 })
	if _, err := second.interrupt(); err != nil {
		t.Error(err)
	}
}
