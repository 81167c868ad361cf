// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// heartbeatCheck is a heartbeat as the API shows it.
type heartbeatCheck struct {
	ID       string   `json:"id"`
	PingURL  string   `json:"ping_url"`
	Interval int      `json:"interval_seconds"`
	Regions  []string `json:"regions"`
	Health   string   `json:"health_status"`
}

// newHeartbeat creates a heartbeat of some seconds.
func newHeartbeat(c client, name string, every, grace int) heartbeatCheck {
	c.t.Helper()
	var made heartbeatCheck
	c.into(&made, http.MethodPost, "/v1/checks", object{
		"name": name, "type": "heartbeat", "config": object{"schedule": object{"every_seconds": every}, "grace_seconds": grace},
	})
	if made.PingURL == "" || made.Interval != every || len(made.Regions) != 1 || made.Regions[0] != "heartbeat" {
		c.t.Fatalf("made %+v", made)
	}
	return made
}

// ping pings once and returns the status, 0 without an answer.
func ping(ctx context.Context, method, address, body string) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// beat is a result of a heartbeat.
type beat struct {
	Time    time.Time `json:"time"`
	Success bool      `json:"success"`
	Error   string    `json:"error_message"`
}

// beatsOf are the results of a check, the newest first.
func beatsOf(c client, id string) []beat {
	c.t.Helper()
	var list []beat
	c.into(&list, http.MethodGet, "/v1/checks/"+id+"/results?limit=1000", nil)
	return list
}

// TestHeartbeat follows a job: it succeeds, fails, is absent, and comes late. Each time the incident
// opens and resolves as that of any check.
func TestHeartbeat(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	made := newHeartbeat(c, "nightly backup", 5, 3)
	var channel struct{ ID string }
	c.into(&channel, http.MethodPost, "/v1/notification-channels", object{
		"name": "ops", "type": "webhook", "config": object{"url": "http://127.0.0.1:9/"},
	})
	c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", object{
		"name": "down", "notify_on": "both", "condition": object{"failure_threshold": 1},
		"notification_channel_ids": []string{channel.ID},
	})
	incidents := func(status string) (n int) {
		var list []object
		c.into(&list, http.MethodGet, "/v1/incidents?check_id="+made.ID+"&status="+status, nil)
		return len(list)
	}
	newest := func() beat {
		if list := beatsOf(c, made.ID); len(list) > 0 {
			return list[0]
		}
		return beat{}
	}
	if status := ping(t.Context(), http.MethodGet, made.PingURL+"x", ""); status != http.StatusNotFound {
		t.Errorf("an unknown address: %d", status)
	}
	if status := ping(t.Context(), http.MethodHead, made.PingURL, ""); status != http.StatusOK {
		t.Errorf("HEAD: %d", status)
	}
	eventually(t, "the job is healthy", func() bool { return newest().Success })
	if status := ping(t.Context(), http.MethodPost, made.PingURL+"/3", "disk full"); status != http.StatusOK {
		t.Errorf("an exit code: %d", status)
	}
	eventually(t, "an incident of the exit code", func() bool { return incidents("active") == 1 })
	if seen := newest(); seen.Success || seen.Error != "the job ended with exit code 3" {
		t.Errorf("%+v", seen)
	}
	ping(t.Context(), http.MethodGet, made.PingURL+"/0", "")
	eventually(t, "it resolves", func() bool { return incidents("resolved") == 1 })
	eventually(t, "an incident of absence", func() bool { return incidents("active") == 1 })
	if seen := newest(); seen.Success || !strings.HasPrefix(seen.Error, "no ping came: it was expected by") {
		t.Errorf("%+v", seen)
	}
	ping(t.Context(), http.MethodGet, made.PingURL, "")
	eventually(t, "the late ping resolves it", func() bool { return incidents("resolved") == 2 })
}

// TestHeartbeatRun runs jobs with `vigil run`: their exit codes and signals are those of the
// program, and their output is kept without credentials.
func TestHeartbeatRun(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	made := newHeartbeat(c, "a job", 3600, 60)
	run := func(args ...string) (string, *exec.ExitError) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"run", "--retry", "20s", "--"}, args...)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "VIGIL_PING_URL=" + made.PingURL}
		out, err := cmd.CombinedOutput()
		exit, _ := err.(*exec.ExitError) //nolint:errorlint // as exec returns it
		return string(out), exit
	}
	type pingView struct {
		Kind   string  `json:"kind"`
		Exit   *int    `json:"exit_code"`
		RID    *string `json:"rid"`
		Output string  `json:"output"`
	}
	newest := func() (list []pingView) {
		c.into(&list, http.MethodGet, "/v1/checks/"+made.ID+"/pings", nil)
		return list
	}
	out, exit := run("sh", "-c", "echo made; echo token=abcdefgh >&2; exit 4")
	if exit == nil || exit.ExitCode() != 4 || !strings.Contains(out, "made\n") {
		t.Errorf("%q, %v", out, exit)
	}
	seen := newest()
	if len(seen) != 2 || seen[0].Kind != "fail" || *seen[0].Exit != 4 || seen[1].Kind != "start" || *seen[0].RID != *seen[1].RID ||
		!strings.Contains(seen[0].Output, "made\n") || strings.Contains(seen[0].Output, "abcdefgh") {
		t.Errorf("%+v", seen)
	}
	if out, exit = run("sh", "-c", "kill -TERM $$"); exit == nil || exit.ExitCode() != -1 {
		t.Errorf("%q, %v", out, exit) // -1: a signal has ended it
	}
	if seen = newest(); *seen[0].Exit != 143 {
		t.Errorf("%+v", seen[0])
	}
	if out, exit = run("no-such-command"); exit == nil || exit.ExitCode() != 127 {
		t.Errorf("%q, %v", out, exit)
	}
	if out, exit = run("true"); exit != nil {
		t.Errorf("%q, %v", out, exit)
	}
	if seen = newest(); seen[0].Kind != "success" {
		t.Errorf("%+v", seen[0])
	}
}

// TestHeartbeatOutage kills the platform while jobs ping, some of which end meanwhile. No job that
// goes on is ever down, and each that ended is.
func TestHeartbeatOutage(t *testing.T) {
	timingtest.Parallel(t)
	const jobs, ended, every, grace = 200, 20, 5, 2
	dir := dataDir(t)
	env := append(freePorts(dir), "VIGIL_LISTEN="+freeAddress(t), "VIGIL_REGIONS=eu-central-fra", "VIGIL_SIGNUP_TIER=enterprise")
	p := start(t, env, "up", "--json")
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	made := make([]heartbeatCheck, jobs)
	// The job begins with its check, and a job that ends does not come back.
	ctx, stop := context.WithCancel(t.Context())
	var killed atomic.Bool
	var running sync.WaitGroup
	defer func() { stop(); running.Wait() }()
	for i := range made {
		made[i] = newHeartbeat(c, fmt.Sprintf("job %d", i), every, grace)
		running.Go(func() {
			tick := time.NewTicker(every * time.Second)
			defer tick.Stop()
			for {
				if i < ended && killed.Load() {
					return
				}
				ping(ctx, http.MethodPost, made[i].PingURL, "done")
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
			}
		})
	}
	eventually(t, "all jobs are healthy", func() bool { return countHealth(c, "healthy") == jobs })
	killed.Store(true)
	p.kill()
	outage := time.NewTimer(3 * every * time.Second / 2)
	<-outage.C
	p = start(t, env, "up", "--json")
	back := time.Now()
	c.url = p.ready.APIURL
	eventually(t, "the jobs that ended are down", func() bool { return countHealth(c, "unhealthy") == ended })
	took := time.Since(back)
	eventually(t, "the others have results again", func() bool {
		for i := ended; i < jobs; i++ {
			if list := beatsOf(c, made[i].ID); len(list) == 0 || list[0].Time.Before(back.Add(every*time.Second)) {
				return false
			}
		}
		return true
	})
	alarms := 0
	for i := ended; i < jobs; i++ {
		for _, seen := range beatsOf(c, made[i].ID) {
			if !seen.Success {
				alarms++
				t.Logf("job %d: %s at %v", i, seen.Error, seen.Time)
			}
		}
	}
	t.Logf("%d jobs, %d ended: false alarms %d, all misses known %v after the start", jobs, ended, alarms, took.Round(time.Millisecond))
	if alarms > 0 {
		t.Errorf("%d false alarms", alarms)
	}
}

// countHealth counts the checks of a health.
func countHealth(c client, health string) int {
	c.t.Helper()
	var n int
	for offset := 0; ; offset += 100 {
		var list []heartbeatCheck
		c.into(&list, http.MethodGet, fmt.Sprintf("/v1/checks?limit=100&offset=%d", offset), nil)
		for _, one := range list {
			if one.Health == health {
				n++
			}
		}
		if len(list) < 100 {
			return n
		}
	}
}
