// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
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
	return runAgentIn(t, nil, platform, at, args...)
}

// runAgentIn is runAgent with an environment.
func runAgentIn(t *testing.T, env []string, platform string, at place, args ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(at.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return launchCommand(t, env, binary, append([]string{
		"agent", "--url", platform, "--token-file", file, "--data-dir", t.TempDir(), "--allow", "127.0.0.0/8", "--canaries", "off",
	}, args...)...)
}

// TestAgent follows a check that an agent probes: its results, an incident, a test by hand, and the silence of the
// location when the agent is gone.
func TestAgent(t *testing.T) {
	timingtest.Parallel(t)
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

// TestAgentsShare kills one of two agents of a location: the other one has its checks, each slot has its result once, and
// what was taken over is silent for ten seconds at most, which the full form judges.
func TestAgentsShare(t *testing.T) {
	timingtest.Parallel(t)
	p, c := shared(t)
	site := newTarget(t)
	office := newPlace(c, "Office")
	checks := 12
	if full() {
		checks = 200
	}
	paths := make(map[string]string, checks)
	for i := range checks {
		var made check
		at := fmt.Sprintf("/%d", i)
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck("check"+at, site.URL+at, 2, office.Key))
		paths[made.ID] = at
	}
	first, second := runAgent(t, p.ready.APIURL, office), runAgent(t, p.ready.APIURL, office)
	shares := func() (list []int) {
		var at struct{ Agents []struct{ Checks int } }
		c.into(&at, http.MethodGet, "/v1/locations/"+office.ID, nil)
		for _, one := range at.Agents {
			list = append(list, one.Checks)
		}
		return list
	}
	eventually(t, "the agents share the checks", func() bool {
		list := shares()
		return len(list) == 2 && list[0]+list[1] == checks && list[0] > 0 && list[1] > 0
	})
	eventually(t, "each check is probed", func() bool {
		for _, at := range paths {
			if site.count(at) < 3 {
				return false
			}
		}
		return true
	})
	killed := time.Now()
	first.kill()
	before := make(map[string]int, checks)
	for id, at := range paths {
		before[id] = site.count(at)
	}
	eventually(t, "the other agent has all checks", func() bool {
		for id, at := range paths {
			if site.count(at) < before[id]+2 {
				return false
			}
		}
		return true
	})
	if _, err := second.interrupt(); err != nil {
		t.Error(err)
	}
	silent := time.Duration(0)
	for id, at := range paths {
		site.mu.Lock()
		hits := slices.Clone(site.hits[at])
		site.mu.Unlock()
		for i, hit := range hits {
			if i > 0 && hit.After(killed) {
				silent = max(silent, hit.Sub(hits[i-1]))
			}
		}
		slots := make(map[time.Time]bool)
		// The killed agent had results that it had not sent, and its last slot was probed by both.
		eventually(t, "the results are there", func() bool { return len(resultsOf(c, "/v1/checks/"+id)) >= min(20, len(hits)-3) })
		for _, r := range resultsOf(c, "/v1/checks/"+id) {
			if slots[r.Time] {
				t.Errorf("%s has two results at %v", at, r.Time)
			}
			slots[r.Time] = true
		}
	}
	figure(t, "the longest silence of a check when one of two agents is killed", silent, 10*time.Second, 0)
}

// TestPublicRegionOfAgents gives regions of the platform to agents: one that the process was started with, whose worker
// probes no more until agents leave it, and one that it was not, in which it never probes. What agents send is the
// region's, for every organization.
func TestPublicRegionOfAgents(t *testing.T) {
	timingtest.Parallel(t)
	const own, other = "eu-central-fra", "ap-east-hkg"
	dir := dataDir(t)
	env := append(freePorts(dir), "VIGIL_REGIONS="+own, "VIGIL_SIGNUP_TIER=enterprise")
	p := start(t, env, "up", "--json")
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	site := newTarget(t)
	path := make(map[string]string)
	for _, region := range []string{own, other} {
		var made check
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck(region, site.URL+"/"+region, 1, region))
		path[region] = "/v1/checks/" + made.ID
	}
	agentToken := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), binary, append([]string{"region", "agent-token"}, args...)...)
		command.Env = append(os.Environ(), env...)
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	silent := func(region string) bool {
		count := site.count("/" + region)
		time.Sleep(8 * time.Second) // sleep: that nothing comes is what is waited for, longer than who serves a region is read
		return site.count("/"+region) == count
	}
	eventually(t, "the worker probes", func() bool { return site.count("/"+own) >= 2 })
	tokens := map[string]string{own: agentToken(own), other: agentToken(other)}
	eventually(t, "the worker probes no more", func() bool { return silent(own) })
	if _, err := p.interrupt(); err != nil { // it runs the loops of another region after a restart
		t.Fatal(err)
	}
	p = start(t, env, "up", "--json")
	c.url = p.ready.APIURL
	for region, token := range tokens {
		before := len(resultsOf(c, path[region]))
		runAgent(t, p.ready.APIURL, place{Token: token})
		eventually(t, "the agent probes for the region", func() bool { return len(resultsOf(c, path[region])) > before+2 })
		for _, r := range resultsOf(c, path[region]) {
			if r.Region != region || !r.Success {
				t.Errorf("%+v", r)
			}
		}
	}
	agentToken(other, "--remove")
	eventually(t, "nothing probes from the other region", func() bool { return silent(other) })
	if n := site.count("/" + other); !silent(other) {
		t.Errorf("the platform probes from its own machine for a region of agents: %d probes more", site.count("/"+other)-n)
	}
	agentToken(own, "--remove")
	eventually(t, "the agent probes no more, and the worker does", func() bool {
		count := site.count("/" + own)
		time.Sleep(8 * time.Second) // sleep: the agent has stopped within it
		return site.count("/"+own) > count
	})
}

// sentAll reports whether the agent of a location has reported since an instant, with nothing left that it could not send.
func sentAll(c client, at place, since time.Time) bool {
	c.t.Helper()
	var seen struct {
		State  string
		Agents []struct {
			SeenAt time.Time `json:"seen_at"`
			Spool  struct{ Results int }
		}
	}
	c.into(&seen, http.MethodGet, "/v1/locations/"+at.ID, nil)
	return seen.State == "online" && len(seen.Agents) == 1 && seen.Agents[0].Spool.Results == 0 && seen.Agents[0].SeenAt.After(since)
}

// eachOnce waits until every probe of checks is a result, and judges that none is lost and none doubled.
func eachOnce(t *testing.T, c client, site *target, paths map[string]string, within time.Duration) {
	t.Helper()
	lost, doubled := 0, 0
	for id, at := range paths {
		var of struct {
			Total int `json:"total_checks"`
		}
		probed := site.count(at)
		began := time.Now()
		for of.Total < probed && time.Since(began) < within {
			c.into(&of, http.MethodGet, "/v1/checks/"+id+"/uptime?period=24h", nil)
			time.Sleep(50 * time.Millisecond)
		}
		lost += max(0, probed-of.Total)
		doubled += max(0, of.Total-probed)
		slots := make(map[time.Time]bool)
		for _, r := range resultsOf(c, "/v1/checks/"+id) {
			if slots[r.Time] {
				doubled++
			}
			slots[r.Time] = true
		}
	}
	figure(t, "probes of the agent without a result", lost, 0, 0)
	figure(t, "results of the agent without a probe, or twice", doubled, 0, 0)
}
