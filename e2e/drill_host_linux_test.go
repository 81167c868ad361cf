// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestDrillLostHost loses a host with a worker and a control process that has shards of the sweep: its
// link goes down, so that Postgres and Temporal see connections that stay open and
// never answer.
func TestDrillLostHost(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(drill{checks: 20, interval: 2 * time.Second}, drill{checks: 200, interval: 2 * time.Second})
	host := newNamespace(t)
	s := newClusterOn(t, "127.0.0.1,"+host.address)
	host.allow(s)
	temporal := newLinkOn(t, host.address, s.temporal.ready.TemporalAddress)
	postgres := net.JoinHostPort(host.address, s.address().Port())
	env := append(s.env[:len(s.env):len(s.env)], s.through(postgres), "TEMPORAL_ADDRESS="+temporal.address)
	s.control.stop()
	s.workers[0].stop()
	s.control = host.launch(env, "worker", "--control")
	s.workers[0] = host.launch(env, "worker", "--region", clusterRegion)
	s.awaitWorkers()
	spare := launch(t, s.env, "worker", "--control")
	s.awaitShards(s.control, spare)

	site := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(host.address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	site.Listener = listener
	site.Start()
	t.Cleanup(site.Close)
	s.seed(site.URL, d.checks, d.interval)
	p := notePauses(t)
	s.awaitResults(time.Now()) // loops of both workers are under way

	lost := time.Now()
	host.lose()
	temporal.cut()
	eventually(t, "the other control process has all shards", func() bool { return s.othersHaveAll(s.control) })
	figure(t, "another control process leads after", time.Since(lost), takeover, p.longest())
	wait(t, "what a lost worker could still take", time.Until(lost.Add(20*time.Second)))
	l := s.audit(time.Now())
	t.Logf("a lost host with one of two workers and of two control processes, %d checks every %v: %s; %v", d.checks, d.interval, &l, p)
	l.exact(t)
	// A poll of the lost worker that is still open takes a task with it.
	figure(t, "silence of a loop beyond its interval", l.silence, outage+d.interval, p.longest())
}
