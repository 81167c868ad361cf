// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestDrillVersions rolls a build of the workers out and back with Worker Versioning, over
// running loops: from unversioned workers to build a, by a ramp to build b, and back.
func TestDrillVersions(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		// A hand-over takes up to 2 s beside a busy machine, which a slot must outlast.
		drill{checks: 24, interval: 6 * time.Second, window: 12 * time.Second},
		drill{checks: 200, interval: 2 * time.Second, window: time.Minute})
	// A loop moves with the workflow task after its turn. Slots on the way may be late.
	moved := d.window + 3*time.Second
	site := newSwitchable(t)
	s := newCluster(t, append(wideTurns(d.window), "VIGIL_LOG_LEVEL=info", fastSchedule)...)
	s.seed(site.URL, d.checks, d.interval)
	scenario := newAlertScenario(t, client{t: t, url: s.apiURL, key: s.operatorKey()}, s.dsn, 1, 1, 0, clusterRegion)
	eventually(t, "the check of the scenario has a result", func() bool { return s.loopsOn(nil) == d.checks+1 })
	s.began = time.Now().Truncate(time.Microsecond)
	p := notePauses(t)
	all := d.checks + 1

	a := s.startBuild("a")
	s.deploymentCommand("promote", "a")
	figure(t, "all loops moved from unversioned workers to build a", s.awaitLoopsOn(a, all, all), moved, p.longest())
	s.control.stop()
	for _, w := range s.workers {
		w.stop()
	}
	scenario.service.fail(path(0)) // incidents and deliveries are versioned too
	scenario.awaitIncidents(0, 1, "active")

	// The codec is switched on by the roll-out, and off again. Turns of build b do not end by themselves.
	b := s.startBuild("b", "VIGIL_PAYLOAD_CODEC=encrypt", "VIGIL_QUIET_WINDOW=6h")
	s.deploymentCommand("ramp", "b", "50")
	figure(t, "a share of the loops moved to build b with a ramp of 50 %", s.awaitLoopsOn(b, all/5, all-all/5), moved, p.longest())
	s.test(scenario) // a standalone activity, while two builds share the queue
	s.deploymentCommand("promote", "b")
	figure(t, "all loops moved to build b", s.awaitLoopsOn(b, all, all), moved, p.longest())
	s.test(scenario)
	scenario.service.repair(path(0))
	scenario.awaitIncidents(0, 1, "resolved")
	s.deploymentCommand("promote", "a")
	figure(t, "all loops moved back to build a", s.awaitLoopsOn(a, all, all), moved+deploymentLook, p.longest())
	b.stop()
	scenario.awaitDeliveries()

	l := s.audit(time.Now())
	t.Logf("%d checks every %v, quiet window %v: %s; %v", all, d.interval, d.window, &l, p)
	l.exact(t)
	figure(t, "slots missed by one loop over four hand-overs", l.mostMissed, 0, p.slots(time.Second))
	if got := scenario.receiver.summarize(); got.opened != 1 || got.resolved != 1 || got.repeated != 0 || got.outOfOrder != 0 {
		t.Errorf("the receiver got %+v, want one incident, opened and resolved once", got)
	}
}

// deploymentLook is how often a worker looks whether its build gets work.
const deploymentLook = 10 * time.Second

// operatorKey makes an API key on the command line.
func (s *cluster) operatorKey() string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), binary, "keys", "create")
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// startBuild starts a worker process for all queues, as a build of the deployment.
func (s *cluster) startBuild(build string, settings ...string) *process {
	s.t.Helper()
	env := append(s.env[:len(s.env):len(s.env)], "VIGIL_DEPLOYMENT_NAME=vigil", "VIGIL_BUILD_ID="+build)
	return launch(s.t, append(env, settings...), "worker", "--control", "--region", clusterRegion)
}

// deploymentCommand runs `vigil deployment`, until the server has seen the pollers of a
// build that has just started.
func (s *cluster) deploymentCommand(args ...string) {
	s.t.Helper()
	var out []byte
	eventually(s.t, "vigil deployment "+strings.Join(args, " "), func() bool {
		cmd := exec.CommandContext(s.t.Context(), binary, append([]string{"deployment"}, args...)...)
		cmd.Env = append(append(os.Environ(), s.env...), "VIGIL_DEPLOYMENT_NAME=vigil")
		var err error
		out, err = cmd.CombinedOutput()
		if err != nil {
			time.Sleep(200 * time.Millisecond) // sleep: each look is a process
		}
		return err == nil
	})
	s.t.Logf("vigil deployment %s:\n%s", strings.Join(args, " "), out)
}

// loopsOn returns how many loops have stored their last result from a worker process; nil
// counts all that have any.
func (s *cluster) loopsOn(w *process) int {
	pattern := "%"
	if w != nil {
		pattern = nameOf(w)
	}
	return s.number("SELECT count(*) FROM check_regions WHERE active AND last_slot IS NOT NULL AND worker LIKE $1", pattern)
}

// awaitLoopsOn waits until a worker has from least to most loops, and returns how long it
// took.
func (s *cluster) awaitLoopsOn(w *process, least, most int) time.Duration {
	s.t.Helper()
	began, n := time.Now(), 0
	eventually(s.t, "the loops have moved", func() bool {
		n = s.loopsOn(w)
		return n >= least && n <= most
	})
	took := time.Since(began)
	s.t.Logf("%d loops after %v", n, took.Round(time.Millisecond))
	return took
}

// test probes a check of the scenario by hand.
func (s *cluster) test(d *alertScenario) {
	s.t.Helper()
	for range 4 { // whichever build takes it
		got := d.client.do(http.MethodPost, "/v1/checks/"+d.checks[0]+"/test", map[string]any{"region": clusterRegion})
		if got.Status != http.StatusOK {
			s.t.Errorf("a test by hand: %d %s", got.Status, got.Error)
		}
	}
}
