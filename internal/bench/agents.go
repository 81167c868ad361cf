// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// goalAgentCost is how many times as much checks of an agent may cost as those of a worker.
	goalAgentCost = 1.2
	// goalAgentMemory is how much memory an agent may have at any time, resident, in MB.
	goalAgentMemory = 40
	// agentSample is the time between two readings of an agent's memory.
	agentSample = 500 * time.Millisecond
)

// AgentOptions configure MeasureAgents.
type AgentOptions struct {
	Checks   int
	Interval time.Duration // of every check
	Settle   time.Duration // how long they are probed before the measurement, while turns grow
	Measure  time.Duration // how long CPU time is counted
	Program  string        // a vigil-agent; empty: this program, which is larger
	Out      io.Writer     // where the report goes
}

// MeasureAgents starts the whole platform as `vigil up` does and prints what checks cost that an agent probes: the CPU time
// of all processes of the platform and of the agent, beside that of a second platform whose worker probes the same checks of
// the same target, and the memory of the agent. It needs Linux.
func MeasureAgents(ctx context.Context, o AgentOptions) error {
	target, url, err := startTarget(ctx)
	if err != nil {
		return err
	}
	defer target.stop()
	var b strings.Builder
	fmt.Fprintf(&b, "%d checks every %v, %d cores, after %v, measured for %v\n", o.Checks, o.Interval, runtime.NumCPU(), o.Settle, o.Measure)
	var cost [2]agentCost
	for i, byAgent := range []bool{true, false} {
		err := withDir(func(dir string) (err error) {
			cost[i], err = measureAgent(ctx, o, dir, url, byAgent)
			return err
		})
		if err != nil {
			return err
		}
		cost[i].print(&b, map[bool]string{true: "an agent probes", false: "a worker probes"}[byAgent])
	}
	fmt.Fprintf(&b, "  agent beside worker  %.2f times the CPU (goal %.1f)\n", cost[0].share()/max(cost[1].share(), 1e-6), goalAgentCost)
	fmt.Fprintf(&b, "  memory of the agent  %.1f MB resident at most, %.1f MB at the end (goal %d)\n\n",
		float64(cost[0].peak)/1e6, float64(cost[0].last)/1e6, goalAgentMemory)
	_, err = io.WriteString(o.Out, b.String())
	return err
}

// agentCost is what checks cost.
type agentCost struct {
	platform, agent time.Duration // CPU time
	took            time.Duration
	results         int // in that time
	before, after   map[string]kind
	peak, last      int64 // resident memory of the agent in bytes
}

func (c *agentCost) share() float64 { return (c.platform + c.agent).Seconds() / c.took.Seconds() }

func (c *agentCost) print(b *strings.Builder, title string) {
	fmt.Fprintf(b, "%s: %.1f %% of a core, %.2f ms a result; the agent has %.1f %% of it\n", title, 100*c.share(),
		1000*(c.platform+c.agent).Seconds()/max(float64(c.results), 1), 100*c.agent.Seconds()/max((c.platform+c.agent).Seconds(), 1e-6))
	printKinds(b, c.before, c.after, c.took)
}

func measureAgent(ctx context.Context, o AgentOptions, dir, target string, byAgent bool) (cost agentCost, err error) {
	at(ctx, "starting vigil up")
	var ready struct {
		URL string `json:"api_url"`
		Key string `json:"api_key"`
	}
	up, err := spawn(ctx, "vigil", []string{
		"DATABASE_URL=", "TEMPORAL_ADDRESS=", "VIGIL_DATA_DIR=" + dir, "VIGIL_LISTEN=127.0.0.1:0", "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0",
		"VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_CANARIES=", "VIGIL_LOG_LEVEL=warn", "VIGIL_SIGNUP_TIER=enterprise",
	}, &ready, "up", "--json")
	if err != nil {
		return cost, err
	}
	defer up.stop()
	api := &apiCaller{url: ready.URL, key: ready.Key}
	place, read := region, func() (time.Duration, error) { return 0, nil }
	if byAgent {
		one, key, err := startAgent(ctx, api, o.Program, dir)
		if err != nil {
			return cost, err
		}
		defer one.stop()
		place, read = key, func() (time.Duration, error) {
			used, err := usageOf(one.pid(), false)
			return used.cpu, err
		}
		watching, stop := context.WithCancel(ctx)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for timing.Sleep(watching, agentSample) == nil {
				cost.last = sizesIn(fmt.Sprintf("/proc/%d/status", one.pid()))["VmRSS"]
				cost.peak = max(cost.peak, cost.last)
			}
		}()
		defer func() { stop(); <-watched }()
	}
	if err := createIn(ctx, api, target, place, o); err != nil {
		return cost, err
	}
	at(ctx, "settling for %s", o.Settle)
	if err := timing.Sleep(ctx, o.Settle); err != nil {
		return cost, err
	}
	agent, err := read()
	if err != nil {
		return cost, err
	}
	cost.before, cost.after, cost.took, err = readTwice(ctx, o.Measure, func() (map[string]kind, error) { return kindsOf(up.pid()) })
	if err != nil {
		return cost, err
	}
	now, err := read()
	cost.agent = now - agent
	for _, k := range cost.after {
		cost.platform += k.cpu
	}
	for _, k := range cost.before {
		cost.platform -= k.cpu
	}
	cost.results = int(cost.took.Seconds() / o.Interval.Seconds() * float64(o.Checks))
	return cost, err
}

// startAgent makes a location and starts an agent of it.
func startAgent(ctx context.Context, api *apiCaller, program, dir string) (agent *part, key string, err error) {
	var made struct{ Key, Token string }
	if err := api.call(ctx, &made, http.MethodPost, "/v1/locations", map[string]any{"name": "Bench"}); err != nil {
		return nil, "", err
	}
	file := filepath.Join(dir, "agent.token")
	if err := os.WriteFile(file, []byte(made.Token), 0o600); err != nil {
		return nil, "", err
	}
	args := []string{
		"--url",
		api.url,
		"--token-file",
		file,
		"--data-dir",
		filepath.Join(dir, "agent"),
		"--allow",
		"127.0.0.0/8",
		"--canaries",
		"off",
	}
	if program == "" {
		agent, err = spawn(ctx, "agent", nil, nil, append([]string{"agent"}, args...)...)
		return agent, made.Key, err
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the operator names it
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("start the agent: %w", err)
	}
	agent = &part{name: "agent", cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(agent.done)
		_ = cmd.Wait()
	}()
	return agent, made.Key, nil
}

// createIn creates the checks in a region or location.
func createIn(ctx context.Context, api *apiCaller, target, place string, o AgentOptions) error {
	const clients = 4
	var next atomic.Int64
	creating, ctx := errgroup.WithContext(ctx)
	for range clients {
		creating.Go(func() error {
			for i := int(next.Add(1)); i <= o.Checks; i = int(next.Add(1)) {
				at(ctx, "creating checks, %d of %d", i, o.Checks)
				err := api.call(ctx, nil, http.MethodPost, "/v1/checks", map[string]any{
					"name": fmt.Sprintf("bench %d", i), "type": "http", "interval_seconds": int(o.Interval.Seconds()),
					"regions": []string{place}, "config": map[string]any{"url": target},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return creating.Wait()
}
