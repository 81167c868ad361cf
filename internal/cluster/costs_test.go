// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestCostOptions names what cannot be measured.
func TestCostOptions(t *testing.T) {
	t.Parallel()
	good := func() CostOptions {
		return CostOptions{Checks: []int{100, 200}, Interval: time.Minute, Measure: time.Minute, Incidents: 1}
	}
	for want, change := range map[string]func(*CostOptions){
		"":                               func(*CostOptions) {},
		"at least one number of checks":  func(o *CostOptions) { o.Checks = nil },
		"100 cannot follow 200":          func(o *CostOptions) { o.Checks = []int{200, 100} },
		"0 cannot follow 0":              func(o *CostOptions) { o.Checks = []int{0} },
		"whole seconds, and not 1.5s":    func(o *CostOptions) { o.Interval = 1500 * time.Millisecond },
		"whole seconds, and not 0s":      func(o *CostOptions) { o.Interval = 0 },
		"at least a second, and not 0s":  func(o *CostOptions) { o.Measure = 0 },
		"-1 incidents cannot be opened":  func(o *CostOptions) { o.Incidents = -1 },
		"100 cannot follow 100":          func(o *CostOptions) { o.Checks = []int{100, 100} },
		"at least a second, and not 1ms": func(o *CostOptions) { o.Measure = time.Millisecond },
	} {
		o := good()
		change(&o)
		err := o.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// TestCostReport has what a part takes beyond its rest, for each result, turn, loop and incident.
func TestCostReport(t *testing.T) {
	t.Parallel()
	cost := func(checks int, took, cpu time.Duration, memory int64) *Cost {
		return &Cost{
			Checks: checks, Took: took, Target: 50 * time.Millisecond, Results: 200, Turns: 20,
			Parts: map[Kind]PartCost{KindWorker: {Hosts: 6, CPU: cpu, Memory: memory}},
			Late:  []Late{{Region: farRegion, P50: 2 * time.Millisecond, P99: 61 * time.Millisecond}},
		}
	}
	report := &CostReport{
		Options: CostOptions{Interval: time.Minute, Incidents: 10},
		Rest:    cost(0, time.Minute, 600*time.Millisecond, 64<<20), // 1 % of a core
		With:    []*Cost{cost(100, 2*time.Minute, 2200*time.Millisecond, 74<<20)},
		// In half a minute 550 ms are of the checks.
		BeforeIncidents: cost(110, 2*time.Minute, 2200*time.Millisecond, 74<<20),
		Incidents:       cost(110, 30*time.Second, 950*time.Millisecond, 80<<20),
	}
	var b strings.Builder
	if err := report.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"100 checks at 1m0s for 2m0s: 200 results, 20 turns; the target took 0.25 ms",
		"| worker | 6 | 1.0, 1.8 % of a core | 5.00 ms | 50.0 ms | 64, 74 MiB | 102.4 KiB |",
		"| all | 6 | 1.0, 1.8 % of a core | 5.00 ms | 50.0 ms | 64, 74 MiB | 102.4 KiB |",
		"| ap-southeast-sin | 2.0, 61.0 ms |",
		"10 incidents that were opened at once and resolved, in 30s",
		"| worker | 40.0 ms |", "| all | 40.0 ms |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, b.String())
		}
	}
}

// TestUsed reads this very process, and what does not run.
func TestUsed(t *testing.T) {
	t.Parallel()
	h := &Host{Name: "none"}
	if _, _, err := h.used(); err == nil {
		t.Error("a host without processes takes something")
	}
	cpu, memory := usedBy([]int{os.Getpid()})
	if memory < 1<<20 {
		t.Errorf("this process has %d bytes", memory)
	}
	timingtest.Eventually(t, time.Minute, "more CPU time is taken", func() bool {
		for range 1_000_000 {
			_ = strings.Repeat("x", 10)
		}
		more, _ := usedBy([]int{os.Getpid()})
		return more > cpu
	})
}

// TestTurnsOf adds up the turns of a page of figures.
func TestTurnsOf(t *testing.T) {
	t.Parallel()
	const worker = "# TYPE vigil_turn_budget gauge\nvigil_turn_budget 5\n"
	page := worker + "# TYPE vigil_turns_total counter\nvigil_turns_total{end=\"news\"} 3\nvigil_turns_total{end=\"planned\"} 39\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) }))
	defer server.Close()
	if turns, err := turnsOf(t.Context(), server.URL); err != nil || turns != 42 {
		t.Errorf("%v turns, %v, want 42", turns, err)
	}
	page = worker
	if turns, err := turnsOf(t.Context(), server.URL); err != nil || turns != 0 {
		t.Errorf("%v turns, %v, want none before the first has ended", turns, err)
	}
	page = "# TYPE other counter\nother 1\n"
	if turns, err := turnsOf(t.Context(), server.URL); err == nil {
		t.Errorf("%v turns of a page that is not a worker's", turns)
	}
}

// TestTarget fails what is below /flapping/ between /break and /heal, and nothing else.
func TestTarget(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Target(ctx, address) }()
	url := "http://" + address
	timingtest.Eventually(t, time.Minute, "the target answers", func() bool { return post(ctx, url+"/heal") == nil })
	for _, each := range []struct {
		before, path string
		want         int
	}{
		{"/heal", "/flapping/1", http.StatusOK},
		{"/break", "/flapping/1", http.StatusServiceUnavailable},
		{"/break", "/steady/1", http.StatusOK},
		{"/heal", "/flapping/1", http.StatusOK},
	} {
		if err := post(ctx, url+each.before); err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+each.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != each.want {
			t.Errorf("%s after %s: %d, want %d", each.path, each.before, response.StatusCode, each.want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
