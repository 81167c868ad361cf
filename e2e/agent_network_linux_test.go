// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	manyhosts "github.com/vigil-monitor/vigil/internal/cluster"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// lossy makes the link lose a share of the packets in each direction, and returns how many it has lost.
func (n *namespace) lossy(percent int) (lost func() int) {
	n.t.Helper()
	nft, err := exec.LookPath("nft")
	if err != nil {
		if nft, err = exec.LookPath("/usr/sbin/nft"); err != nil {
			n.t.Skip("there is no nft; make ready installs it")
		}
	}
	run := func(args ...string) string {
		n.t.Helper()
		out, err := n.ip(append([]string{"netns", "exec", n.name, nft}, args...)...)
		if err != nil {
			n.t.Skipf("this machine does not let the test lose packets: nft %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return out
	}
	run("add table inet loss")
	for _, hook := range []string{"input", "output"} {
		way := map[string]string{"input": "iifname", "output": "oifname"}[hook]
		run(fmt.Sprintf("add chain inet loss %s { type filter hook %s priority 0; }", hook, hook))
		run(fmt.Sprintf("add rule inet loss %s %s %sn numgen random mod 100 < %d counter drop", hook, way, n.device, percent))
	}
	return func() (packets int) {
		fields := strings.Fields(run("list", "table", "inet", "loss"))
		for i, field := range fields {
			if field == "packets" && i+1 < len(fields) {
				n, _ := strconv.Atoi(fields[i+1])
				packets += n
			}
		}
		return packets
	}
}

// relay listens at an address of this machine and carries bytes to the platform and back, each of them late: the kernel
// here may have no netem.
func relay(t *testing.T, host, platform string, late time.Duration) (url string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		stop()
		_ = listener.Close()
	})
	to := strings.TrimPrefix(platform, "http://")
	go manyhosts.CarryAll(ctx, listener, to, late, late)
	return "http://" + listener.Addr().String()
}

// TestAgentOnABadLine has an agent behind a line with a round trip of 200 ms that loses 1 % of its packets, beside a target
// there, and the same checks probed by the platform's worker: each slot has its result once, and the agent probes as
// punctually as the worker, which the full form judges.
func TestAgentOnABadLine(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		drill{checks: 20, interval: 2 * time.Second, window: 14 * time.Second},
		drill{checks: 200, interval: 10 * time.Second, window: 2 * time.Minute},
	)
	p, c := shared(t)
	host := newNamespace(t)
	lost := host.lossy(1)
	front := httptest.NewServer(passOn(t, p.ready.APIURL)) // the platform answers by the name of this machine alone
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	url := relay(t, host.address, front.URL, 100*time.Millisecond)
	there := newTargetOn(t, listenIn(t, host.name, "127.0.0.1:0"))
	here := newTarget(t)
	office := newPlace(c, "Office")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(office.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := host.launch(
		nil,
		"agent",
		"--url",
		url,
		"--token-file",
		file,
		"--data-dir",
		t.TempDir(),
		"--allow",
		"127.0.0.0/8",
		"--canaries",
		"off",
	)
	t.Logf("the agent reaches the platform at %s", url)
	ofAgent, ofWorker := make(map[string]string, d.checks), make(map[string]string, d.checks)
	for i := range d.checks {
		for region, site := range map[string]*target{office.Key: there, "eu-central-fra": here} {
			path := fmt.Sprintf("/%d", i)
			body := httpCheck(region+path, site.URL+path, int(d.interval.Seconds()), region)
			var made check
			c.into(&made, http.MethodPost, "/v1/checks", body)
			if site == there {
				ofAgent[made.ID] = path
			} else {
				ofWorker[made.ID] = path
			}
		}
	}
	eventuallyWithin(t, waitLimit+2*d.interval, "all are probed", func() bool {
		for _, path := range ofAgent {
			if there.count(path) < 2 || here.count(path) < 2 {
				return false
			}
		}
		return true
	})
	measured := time.Now()
	wait(t, "the line is bad", d.window)
	// Of the few hundred packets of the short form, one in a hundred is lost, and sometimes none.
	eventuallyWithin(t, 3*waitLimit, "the line has lost a packet", func() bool { return lost() > 0 })
	until := time.Now()
	if _, err := agent.interrupt(); err != nil {
		t.Error(err)
	}
	t.Logf("the line has lost %d packets", lost())
	eachOnce(t, c, there, ofAgent, waitLimit)
	far, near := lateness(t, ofAgent, measured, until), lateness(t, ofWorker, measured, until)
	t.Logf("lateness of %d checks every %v for %v: agent %v, worker %v", d.checks, d.interval, d.window, far, near)
	want := int(until.Sub(measured)/d.interval) - 1
	if far.n < want*d.checks || near.n < want*d.checks {
		t.Errorf("%d and %d slots were probed, want %d of each", far.n, near.n, want*d.checks)
	}
	figure(t, "lateness p99 of an agent on a bad line, more than of the worker", far.p99-near.p99, 5*time.Millisecond, 0)
}

// late is by how much probes began after their slots.
type late struct {
	n        int
	p50, p99 time.Duration
}

// String shows it for people.
func (l late) String() string { return fmt.Sprintf("p50 %v, p99 %v of %d probes", l.p50, l.p99, l.n) }

// lateness reads how late the probes of checks began in a time.
func lateness(t *testing.T, checks map[string]string, from, to time.Time) (l late) {
	t.Helper()
	ids := make([]string, 0, len(checks))
	for id := range checks {
		ids = append(ids, id)
	}
	db := openDatabase(t, common.dsn(t))
	var p50, p99 float64
	err := db.QueryRowContext(t.Context(), `SELECT count(*), coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY late), 0),
			coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY late), 0)
		FROM (SELECT extract(epoch FROM time - slot) * 1000000 AS late FROM results
			WHERE check_id = ANY ($1::text[]::uuid[]) AND slot BETWEEN $2 AND $3) AS r`,
		"{"+strings.Join(ids, ",")+"}", from, to).Scan(&l.n, &p50, &p99)
	if err != nil {
		t.Fatal(err)
	}
	l.p50, l.p99 = time.Duration(p50)*time.Microsecond, time.Duration(p99)*time.Microsecond
	return l
}

// newTargetOn is newTarget on a listener.
func newTargetOn(t *testing.T, listener net.Listener) *target {
	t.Helper()
	s := &target{hits: make(map[string][]time.Time)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return s
}
