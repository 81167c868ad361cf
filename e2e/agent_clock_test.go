// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/agent"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// wallClock is a clock of a machine that is off, and may be set while programs run: what it shows changes then, and the
// monotonic reading does not.
type wallClock struct{ ahead atomic.Int64 } // seconds

// Now returns the present as the clock shows it.
func (c *wallClock) Now() time.Time { return timingtest.Wall(time.Now(), c.ahead.Load()) }

// agentLog is the log of an agent in this process.
type agentLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (l *agentLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *agentLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// agentWith runs an agent in this process, by a clock, until stop.
func agentWith(t *testing.T, platform string, at place, clock *wallClock) (log *agentLog, stop func()) {
	t.Helper()
	log = &agentLog{}
	guard := egress.New(egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	a, err := agent.New(ctx, agent.Options{
		URL: platform, Token: func() (string, error) { return at.Token, nil },
		HTTP: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}, //nolint:forcetypeassert // it is one
		Dir:  t.TempDir(), SpoolBytes: 64 << 20, Registry: probe.NewRegistry(guard), Guard: guard, MaxProbes: 256,
		Name: at.Key, Version: "v0", Now: clock.Now, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("the agent of %s said:\n%s", at.Key, log)
		}
	})
	return log, stop
}

// TestAgentClock has agents whose clocks are three minutes ahead, three minutes behind, and set by as much while they
// run: each slot has its result, once, at the time of its probe by the platform's clock, and people see the difference.
func TestAgentClock(t *testing.T) {
	timingtest.Parallel(t)
	checks, slots := 6, 6
	if full() {
		checks, slots = 100, 60
	}
	p, c := shared(t)
	for _, one := range []struct {
		name   string
		starts int64 // seconds ahead
		set    []int64
	}{
		{"Ahead", 180, nil},
		{"Behind", -180, nil},
		{"Set ahead", 0, []int64{180}},
		{"Set behind and right again", 0, []int64{-180, 0}},
		{"Put right", 180, []int64{0}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			c := c
			c.t = t
			site := newTarget(t)
			at := newPlace(c, one.name)
			paths := make(map[string]string, checks)
			for i := range checks {
				var made check
				path := fmt.Sprintf("/%d", i)
				c.into(&made, http.MethodPost, "/v1/checks", httpCheck(one.name+path, site.URL+path, 1, at.Key))
				paths[made.ID] = path
			}
			clock := &wallClock{}
			clock.ahead.Store(one.starts)
			log, stop := agentWith(t, p.ready.APIURL, at, clock)
			probed := func(more int) {
				before := make(map[string]int, checks)
				for _, path := range paths {
					before[path] = site.count(path)
				}
				eventuallyWithin(t, waitLimit+time.Duration(more)*time.Second, "each check is probed further", func() bool {
					for path, n := range before {
						if site.count(path) < n+more {
							return false
						}
					}
					return true
				})
			}
			probed(slots)
			for _, ahead := range one.set {
				clock.ahead.Store(ahead)
				probed(slots)
			}
			sayClock(t, c, at, float64(clock.ahead.Load()), log, one.starts != 0 || len(one.set) > 0)
			stop()
			eachOnce(t, c, site, paths, waitLimit)
			inSlots(t, c, site, paths)
		})
	}
}

// sayClock expects that people see by how much the clock of an agent is ahead, in seconds.
func sayClock(t *testing.T, c client, at place, ahead float64, log *agentLog, wrong bool) {
	t.Helper()
	eventually(t, "the location shows the clock of its agent", func() bool {
		var seen struct {
			Agents []struct {
				Clock float64 `json:"clock_difference_seconds"`
			}
		}
		c.into(&seen, http.MethodGet, "/v1/locations/"+at.ID, nil)
		return len(seen.Agents) == 1 && seen.Agents[0].Clock > ahead-2 && seen.Agents[0].Clock < ahead+2
	})
	listed, err := command(t, []string{"VIGIL_URL=" + c.url, "VIGIL_API_KEY=" + c.key}, "location", "list")
	if err != nil || (ahead != 0) != strings.Contains(listed, fmt.Sprintf("%+.0f s", ahead)) {
		t.Errorf("vigil location list does not say that the clock is %+.0f s: %v\n%s", ahead, err, listed)
	}
	if wrong != strings.Contains(log.String(), "is not that of the platform") {
		t.Errorf("the log says whether the clock is wrong: want %v", wrong)
	}
}

// inSlots judges that each result has the time of its probe, and that no slot between two results was left out.
func inSlots(t *testing.T, c client, site *target, paths map[string]string) {
	t.Helper()
	missed := 0
	far := time.Duration(0)
	for id, path := range paths {
		results := resultsOf(c, "/v1/checks/"+id)
		slices.SortFunc(results, func(a, b result) int { return a.Time.Compare(b.Time) })
		site.mu.Lock()
		hits := slices.Clone(site.hits[path])
		site.mu.Unlock()
		for i, r := range results {
			if i < len(hits) {
				far = max(far, hits[i].Sub(r.Time).Abs())
			}
		}
		for i := 2; i < len(hits); i++ { // the first one may be that of a slot before the agent began
			missed += max(0, int(hits[i].Sub(hits[i-1]).Round(time.Second)/time.Second)-1)
		}
	}
	figure(t, "slots without a probe of an agent with a wrong clock", missed, 0, 0)
	figure(t, "a result's time is from the probe's", far, time.Second, 0)
	if far > time.Minute {
		t.Errorf("a result has a time that is %v from that of its probe", far)
	}
}
