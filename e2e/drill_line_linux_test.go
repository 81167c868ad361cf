// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// The addresses of the internet of a drill: its canaries are the default ones, and its target is
// a public address too. None of it leaves this machine.
const (
	internetCanaries = "1.1.1.1:53,8.8.8.8:53,9.9.9.9:53"
	internetTarget   = "93.184.215.14"
)

// internet is a network namespace that is the way out of another one: it has the addresses of
// canaries and of a target.
type internet struct {
	t            *testing.T
	name, device string
	host         *namespace

	mu       sync.Mutex
	answered []time.Time // connections to canaries
}

// newInternet gives a host a way out, or skips the test where it must not.
func newInternet(t *testing.T, host *namespace) *internet {
	t.Helper()
	id := rand.IntN(200) + 1
	n := &internet{t: t, name: fmt.Sprintf("vigil-out-%d-%d", os.Getpid(), id), device: fmt.Sprintf("vigilout%d", id), host: host}
	if out, err := host.ip("netns", "add", n.name); err != nil {
		t.Skipf("this machine does not let the test make a network namespace: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = host.ip("netns", "del", n.name) })
	inner, gateway, address := n.device+"n", fmt.Sprintf("10.232.%d.1", id), fmt.Sprintf("10.232.%d.2", id)
	steps := [][]string{
		{"-n", n.name, "link", "add", n.device, "type", "veth", "peer", "name", inner},
		{"-n", n.name, "link", "set", inner, "netns", host.name},
		{"-n", n.name, "addr", "add", gateway + "/24", "dev", n.device},
		{"-n", n.name, "link", "set", n.device, "up"},
		{"-n", n.name, "link", "set", "lo", "up"},
		{"-n", host.name, "addr", "add", address + "/24", "dev", inner},
		{"-n", host.name, "link", "set", inner, "up"},
		{"-n", host.name, "route", "add", "default", "via", gateway},
	}
	for canary := range strings.SplitSeq(internetCanaries, ",") {
		at, _, _ := net.SplitHostPort(canary)
		steps = append(steps, []string{"-n", n.name, "addr", "add", at + "/32", "dev", "lo"})
	}
	steps = append(steps, []string{"-n", n.name, "addr", "add", internetTarget + "/32", "dev", "lo"})
	for _, args := range steps {
		if out, err := host.ip(args...); err != nil {
			t.Skipf("this machine does not let the test make a way out: ip %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	for canary := range strings.SplitSeq(internetCanaries, ",") {
		go n.answer(n.listen(canary))
	}
	return n
}

// listen opens a listener in the namespace. Its connections may be used anywhere.
func (n *internet) listen(address string) net.Listener { return listenIn(n.t, n.name, address) }

// answer accepts the connections to a canary.
func (n *internet) answer(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_ = conn.Close()
		n.mu.Lock()
		n.answered = append(n.answered, time.Now())
		n.mu.Unlock()
	}
}

// answeredAfter returns when a canary first answered after an instant, zero when none did.
func (n *internet) answeredAfter(instant time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	var first time.Time
	for _, at := range n.answered {
		if at.After(instant) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// set cuts the way out, or mends it: packets are lost meanwhile.
func (n *internet) set(state string) {
	n.t.Helper()
	if out, err := n.host.ip("-n", n.name, "link", "set", n.device, state); err != nil {
		n.t.Fatalf("set the way out %s: %v: %s", state, err, out)
	}
}

// blindSince returns what the API says of the region of the cluster.
func (s *cluster) blindSince() *time.Time {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.apiURL+"/v1/regions?limit=100", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer func() { _ = answer.Body.Close() }()
	var body struct {
		Data []struct {
			Key        string     `json:"key"`
			BlindSince *time.Time `json:"blind_since"`
		} `json:"data"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return nil
	}
	for _, region := range body.Data {
		if region.Key == clusterRegion {
			return region.BlindSince
		}
	}
	return nil
}

// TestDrillLostLine cuts the line to the internet of the host with the workers, and nothing else:
// no incident opens, each slot of that time is missed, and a target that fails when the line is
// back is reported at once.
func TestDrillLostLine(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		drill{checks: 40, interval: 2 * time.Second, pause: 15 * time.Second},
		drill{checks: 1000, interval: 10 * time.Second, pause: time.Minute},
	)
	host := newNamespace(t)
	out := newInternet(t, host)
	site := newServiceOn(t, out.listen(internetTarget+":80"))
	s := newClusterOn(t, "127.0.0.1,"+host.address, fastSchedule)
	host.allow(s)
	temporal := newLinkOn(t, host.address, s.temporal.ready.TemporalAddress)
	env := append(s.env[:len(s.env):len(s.env)], s.through(net.JoinHostPort(host.address, s.address().Port())),
		"TEMPORAL_ADDRESS="+temporal.address, "VIGIL_CANARIES="+internetCanaries)
	for i := range s.workers {
		s.workers[i].stop()
		s.workers[i] = host.launch(env, "worker", "--region", clusterRegion)
	}
	s.awaitWorkers()
	hook := newReceiver(t, 0)
	s.alerting("shop", "http://"+internetTarget, hook.URL, d.checks, d.interval, 1)
	s.alerting("fails", "http://"+internetTarget, hook.URL, 1, time.Second, 1)
	eventuallyWithin(t, 3*waitLimit+time.Duration(d.checks)*20*time.Millisecond, "every loop has a result", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE last_slot IS NOT NULL") == d.checks+1
	})
	// Probes that began while all loops were started at once may have had too little of the machine.
	eventuallyWithin(t, 3*waitLimit+4*d.interval, "every target answers", func() bool {
		return s.number("SELECT count(*) FROM incidents WHERE status <> 'resolved'") == 0 &&
			s.number("SELECT count(*) FROM results WHERE NOT success AND slot > $1", time.Now().Add(-2*d.interval)) == 0
	})
	s.began = time.Now().Truncate(time.Microsecond)
	s.awaitResults(time.Now())
	before, opened := s.number("SELECT count(*) FROM incidents"), hook.summarize().opened
	eventually(t, "the canaries were asked", func() bool { return !out.answeredAfter(time.Time{}).IsZero() })
	if n := s.number("SELECT count(*) FROM results WHERE NOT success AND slot >= $1", s.began); n != 0 {
		t.Fatalf("%d results with a line are failures", n)
	}
	if at := s.blindSince(); at != nil {
		t.Errorf("with a line the region is blind since %v", at)
	}
	p := notePauses(t)

	cut := time.Now()
	out.set("down")
	dark := time.Now()
	eventually(t, "the region is blind", func() bool { return s.blindSince() != nil })
	figure(t, "the region is blind after", time.Since(cut), d.interval+6*time.Second, p.longest())
	site.fail("/fails/0") // the line hides it
	wait(t, "the line is cut", time.Until(cut.Add(d.pause)))
	mended := time.Now()
	out.set("up")
	var sighted time.Time
	eventually(t, "a canary answers", func() bool {
		sighted = out.answeredAfter(mended)
		return !sighted.IsZero()
	})
	eventually(t, "the failure is reported", func() bool { return hook.summarize().opened > opened })
	figure(t, "a failure is reported after sight", time.Since(sighted), 2*time.Second, p.longest())
	eventually(t, "the region is not blind", func() bool { return s.blindSince() == nil })
	s.awaitResults(time.Now())

	l := s.audit(time.Now())
	t.Logf("the line of the workers is cut for %v, %d checks every %v: %s; %v", d.pause, d.checks, d.interval, &l, p)
	l.exact(t)
	figure(t, "incidents without a failure", s.number("SELECT count(*) - 1 - $1 FROM incidents", before), 0, 0)
	figure(t, "failures stored of targets that work", s.number(`SELECT count(*) FROM results AS r JOIN checks AS c ON c.id = r.check_id
		WHERE NOT r.success AND r.slot >= $1 AND c.name LIKE 'shop %'`, s.began), 0, 0)
	// What began less than a timeout before the line was back may have reached its target; a slot
	// begins as late as the machine is busy.
	s.began = dark.Truncate(time.Microsecond)
	during := s.audit(mended.Add(-3*time.Second - l.lateness(1)))
	figure(t, "slots without a line that were not missed", during.due-during.missed, 0, 0)
	if during.missed < d.checks {
		t.Errorf("only %d slots were without a line", during.missed)
	}
	eventually(t, "the beginning and the end are published once", func() bool {
		return s.number("SELECT count(*) FROM events WHERE type = 'region.sighted'") == 2 // one for each organization
	})
	if n := s.number("SELECT count(*) FROM events WHERE type IN ('region.blind', 'region.sighted')"); n != 4 {
		t.Errorf("%d events say that the region is blind, or is not any more", n)
	}
}
