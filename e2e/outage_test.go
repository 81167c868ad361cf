// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// drill is the size of an outage test. Tests use small ones; VIGIL_DRILL=full
// (`make chaos`) uses those of a release.
type drill struct {
	checks   int
	interval time.Duration
	window   time.Duration // the quiet window
	rounds   int           // kills or restarts
	pause    time.Duration // longest time between two rounds
}

// full reports whether VIGIL_DRILL asks for the size of a release.
func full() bool { return os.Getenv("VIGIL_DRILL") == "full" }

// pick returns the small or the large drill; VIGIL_DRILL_ROUNDS limits the latter.
func pick(small, large drill) drill {
	if !full() {
		return small
	}
	if n, err := strconv.Atoi(os.Getenv("VIGIL_DRILL_ROUNDS")); err == nil {
		large.rounds = min(large.rounds, n)
	}
	return large
}

// outage is how long a loop may have no result, beyond its interval, after the
// worker that ran its turn is killed.
const outage = 10 * time.Second

// switchable is an HTTP target that can be made to fail.
type switchable struct {
	*httptest.Server
	broken atomic.Bool
	hits   atomic.Int64
	slow   time.Duration // until it answers; set before the first request
}

func newSwitchable(t *testing.T) *switchable {
	t.Helper()
	s := &switchable{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.hits.Add(1)
		time.Sleep(s.slow) // sleep: a slow target
		if s.broken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestWorkersKilled(t *testing.T) {
	t.Parallel()
	drills := map[string]drill{
		"WindowZero": pick(
			drill{checks: 50, interval: 4 * time.Second, rounds: 3, pause: 6 * time.Second},
			drill{checks: 50, interval: 10 * time.Second, rounds: 20, pause: 15 * time.Second}),
		"WindowGrown": pick(
			drill{checks: 50, interval: 4 * time.Second, window: 12 * time.Second, rounds: 2, pause: 6 * time.Second},
			drill{checks: 50, interval: 10 * time.Second, window: time.Minute, rounds: 20, pause: 45 * time.Second}),
		"WindowDefault": pick(
			drill{checks: 50, interval: 4 * time.Second, window: 30 * time.Minute, rounds: 2, pause: 6 * time.Second},
			drill{checks: 50, interval: 10 * time.Second, window: 30 * time.Minute, rounds: 20, pause: 15 * time.Second}),
	}
	for name, d := range drills {
		t.Run(name, func(t *testing.T) {
			timingtest.Parallel(t)
			site := newSwitchable(t)
			s := newCluster(t, wideTurns(d.window)...)
			s.seed(site.URL, d.checks, d.interval)
			p := notePauses(t)
			s.grow(d)
			killed := time.Now()
			for round := range d.rounds {
				s.awaitWorkers()
				// Each kill is an outage of its own: a loop that the second kill meets before it is back is silent for both.
				s.awaitResults(killed)
				// A random instant: the outcome must not depend on what the worker is doing.
				wait(t, "a random instant", d.pause/2+rand.N(d.pause/2))
				i := rand.IntN(len(s.workers))
				s.workers[i].kill()
				killed = time.Now()
				t.Logf("kill %d: worker %d", round+1, i)
				s.startWorker(i)
			}
			l := s.audit(killed.Add(outage))
			t.Logf("%d kill -9 of one of two workers, %d checks every %v, quiet window %v: %s; %d probes reached the target; %v",
				d.rounds, d.checks, d.interval, d.window, &l, site.hits.Load(), p)
			l.exact(t)
			if d.window > 100*d.interval { // few turns have just ended
				s.adopted()
			}
			lost := time.Duration(d.rounds) * max(d.interval, outage)
			figure(t, "time whose slots one loop missed", time.Duration(l.mostMissed)*d.interval, lost, p.longest())
			figure(t, "worst lateness of a slot", l.lateness(1), outage, p.longest())
			figure(t, "silence of a loop beyond its interval", l.silence, outage, p.longest())
		})
	}
}

// adopted checks that other workers have adopted the open turns of those that were killed. A
// turn that ended in the seconds before is not open: its loop is nudged.
func (s *cluster) adopted() {
	s.t.Helper()
	nudged, loops := s.events(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED), len(s.loops())
	s.t.Logf("%d nudges of %d loops", nudged, loops)
	if nudged > loops/5 {
		s.t.Errorf("%d nudges of %d loops, want their open turns adopted", nudged, loops)
	}
}

// TestManyLoopsOfOneWorker kills a worker with more loops than are nudged in one
// second, none of them due soon: each must be nudged, and once where it has a turn within five seconds.
func TestManyLoopsOfOneWorker(t *testing.T) {
	timingtest.Parallel(t)
	const checks = 700
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, checks, 30*time.Minute) // no slot is due during the test: a result would reset the nudges
	// Workers claim loops once a second, later on a slow machine.
	count, since := 0, time.Now()
	eventually(t, "the workers have claimed all loops", func() bool {
		_, _, n := s.busiest()
		if n != count {
			count, since = n, time.Now()
		}
		return n > 0 && time.Since(since) > 4*time.Second
	})
	victim, pattern, mine := s.busiest()
	if mine <= 200 {
		t.Fatalf("the worker has only %d loops, too few for the test", mine)
	}
	victim.kill()
	began := time.Now()
	eventually(t, "the lease is removed", func() bool {
		return s.number("SELECT count(*) FROM worker_leases WHERE worker LIKE $1", pattern) == 0
	})
	t.Logf("%d loops of a killed worker nudged %v after its death", mine, time.Since(began).Round(10*time.Millisecond))
	eventually(t, "the other worker has claimed them", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE worker LIKE $1", pattern) == 0
	})
	const firstWait = 5000 // ms; a second nudge doubles it
	if nudged := s.number("SELECT count(*) FROM check_regions WHERE nudge_wait_ms >= $1", firstWait); nudged < mine {
		t.Errorf("%d of %d loops were nudged", nudged, mine)
	}
	more := s.number("SELECT count(*) FROM check_regions WHERE nudge_wait_ms > $1", firstWait)
	figure(t, "share of loops of a killed worker that were nudged more than once", float64(more)/float64(mine), 0, 0)
}

// busiest returns the worker with the most loops, a pattern for its name and the
// number of its loops.
func (s *cluster) busiest() (busiest *process, pattern string, loops int) {
	s.t.Helper()
	for _, w := range s.workers {
		name := nameOf(w)
		if n := s.number("SELECT count(*) FROM check_regions WHERE worker LIKE $1", name); n > loops {
			busiest, pattern, loops = w, name, n
		}
	}
	return busiest, pattern, loops
}

// grow waits until the turns of every loop cover the whole window. A few loops get there
// by doubling, while there are tokens; the others at once.
func (s *cluster) grow(d drill) {
	s.t.Helper()
	slots := max(1, int(d.window/d.interval))
	eventuallyWithin(s.t, 3*waitLimit, "the turns of all loops cover the window", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE turn_slots <> $1", slots) == 0
	})
}

// eventuallyWithin is eventually with its own limit.
func eventuallyWithin(t *testing.T, limit time.Duration, what string, fact func() bool) {
	t.Helper()
	timingtest.Eventually(t, limit, what, fact)
}

// TestRollingRestart restarts the workers in turn: no slot is missed. The interval is more than
// twice the worst lateness of a hand-over that was seen on two cores beside a load of 35, 4 s.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	drills := map[string]drill{
		"WindowZero": pick(
			drill{checks: 50, interval: 10 * time.Second, rounds: 4, pause: 6 * time.Second},
			drill{checks: 50, interval: 10 * time.Second, rounds: 12, pause: 15 * time.Second}),
		"WindowGrown": pick(
			drill{checks: 50, interval: 10 * time.Second, window: 40 * time.Second, rounds: 2, pause: 6 * time.Second},
			drill{checks: 50, interval: 10 * time.Second, window: time.Minute, rounds: 12, pause: 15 * time.Second}),
		"WindowDefault": pick(
			drill{checks: 50, interval: 10 * time.Second, window: 30 * time.Minute, rounds: 2, pause: 6 * time.Second},
			drill{checks: 50, interval: 10 * time.Second, window: 30 * time.Minute, rounds: 12, pause: 15 * time.Second}),
	}
	for name, d := range drills {
		t.Run(name, func(t *testing.T) {
			timingtest.Parallel(t)
			site := newSwitchable(t)
			s := newCluster(t, wideTurns(d.window)...)
			s.seed(site.URL, d.checks, d.interval)
			p := notePauses(t)
			s.grow(d)
			var longest time.Duration
			for round := range d.rounds {
				began := time.Now()
				i := round % len(s.workers)
				longest = max(longest, s.workers[i].stop())
				s.startWorker(i)
				s.awaitWorkers()
				wait(t, "the next restart", time.Until(began.Add(d.pause)))
			}
			l := s.audit(time.Now())
			t.Logf("%d restarts by SIGTERM in turn, %d checks every %v, quiet window %v: %s; a stop took at most %v; %v",
				d.rounds, d.checks, d.interval, d.window, &l, longest.Round(time.Millisecond), p)
			l.exact(t)
			l.punctual(t, 3*time.Second, d.interval, p, s.refusedTasks())
		})
	}
}

// TestPartsKilledInTurn kills each part in turn: without the API, the control worker and Temporal no slot is
// missed. The interval is more than twice the worst lateness of a slot that was seen on two cores
// beside a load of 35, 4 s.
func TestPartsKilledInTurn(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		drill{checks: 50, interval: 10 * time.Second, pause: 6 * time.Second},
		drill{checks: 50, interval: 10 * time.Second, pause: 30 * time.Second})
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, d.checks, d.interval)
	missed := 0
	type lost struct {
		name     string
		harmless bool // probing must not be affected
		kill     func()
		start    func()
	}
	parts := []lost{
		{"the API", true, func() { s.api.kill() }, s.startAPI},
		{"the control worker", true, func() { s.control.kill() }, s.startControl},
		{"Temporal", true, func() { s.temporal.kill() }, s.startTemporal},
		{"Postgres", false, s.killPostgres, func() { s.postgres.Start(t) }},
	}
	if full() {
		parts = append(parts, lost{"a Temporal that answers", true, func() { s.temporal.freeze() }, func() { s.temporal.thaw() }})
	}
	for _, part := range parts {
		p := notePauses(t)
		part.kill()
		wait(t, "the time without "+part.name, d.pause/2)
		part.start()
		began := time.Now()
		eventuallyWithin(t, 2*waitLimit, "every loop probes again with "+part.name, func() bool {
			return s.number("SELECT count(*) FROM check_regions WHERE last_scheduled IS NULL OR last_scheduled < $1", began) == 0
		})
		l := s.audit(began)
		t.Logf("without %s for %v, every loop had a newer slot %v after its start: %s; %v",
			part.name, d.pause/2, time.Since(began).Round(10*time.Millisecond), &l, p)
		l.exact(t)
		if part.harmless {
			figure(t, "slots missed without "+part.name, l.missed-missed, 0, d.checks*p.slots(d.interval))
		}
		missed = l.missed
	}
	eventually(t, "the API answers after all of it", func() bool {
		response, err := http.Get(s.apiURL + "/v1/regions") //nolint:noctx // bounded by the wait around it
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == http.StatusOK
	})
}

func TestMassOutage(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		drill{checks: 200, interval: 10 * time.Second, window: 30 * time.Second},
		drill{checks: 1000, interval: 10 * time.Second, window: 60 * time.Second})
	site := newSwitchable(t)
	s := newCluster(t, wideTurns(d.window)...)
	s.seed(site.URL, d.checks, d.interval)
	p := notePauses(t)
	s.grow(d)
	health := func(want string) func() bool {
		return func() bool { return s.number("SELECT count(*) FROM check_regions WHERE health <> $1", want) == 0 }
	}
	for _, phase := range []struct {
		name   string
		broken bool
		want   string
	}{{"all targets fail", true, "unhealthy"}, {"all targets are back", false, "healthy"}} {
		before := s.cpu()
		began := time.Now()
		site.broken.Store(phase.broken)
		eventuallyWithin(t, d.interval+waitLimit, phase.name, health(phase.want))
		took := time.Since(began)
		wait(t, "two slots of every loop", time.Until(began.Add(2*d.interval)))
		span := time.Since(began)
		t.Logf("%s: all %d known after %v; CPU of Temporal and the workers %.0f %% of one core over %v",
			phase.name, d.checks, took.Round(10*time.Millisecond), 100*(s.cpu()-before).Seconds()/span.Seconds(), span.Round(time.Second))
		figure(t, phase.name+": known of all checks after", took, d.interval+5*time.Second, p.longest())
	}
	l := s.audit(time.Now())
	t.Logf("%d checks every %v fail at once and come back, quiet window %v: %s; %v", d.checks, d.interval, d.window, &l, p)
	l.exact(t)
	l.punctual(t, 5*time.Second, d.interval, p, 0)
}

// cpu returns the CPU time of Temporal and the workers so far, from proc(5); 0 on
// systems without it.
func (s *cluster) cpu() time.Duration {
	var total time.Duration
	for _, p := range []*process{s.temporal, s.workers[0], s.workers[1], s.control} {
		total += cpuTime(p.cmd.Process.Pid)
	}
	return total
}

// wholeCPU is cpu with the API and Postgres.
func (s *cluster) wholeCPU() time.Duration {
	s.t.Helper()
	total := s.cpu() + cpuTime(s.api.cmd.Process.Pid)
	var dir string
	if err := s.db.QueryRowContext(s.t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		s.t.Fatal(err)
	}
	for _, pid := range processesIn(dir) {
		total += cpuTime(pid)
	}
	return total
}

// cpuTime returns the CPU time of a process so far; 0 when it is gone.
func cpuTime(pid int) (total time.Duration) {
	const tick = 10 * time.Millisecond
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	for _, text := range fields[11:13] { // user, system
		if ticks, err := strconv.Atoi(text); err == nil {
			total += time.Duration(ticks) * tick
		}
	}
	return total
}
