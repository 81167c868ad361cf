// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// tolerance is how far a phase may be from what the server injected, which is 20 ms or more: three times the
// 5 ms that the handshake of QUIC took by itself at best, of seven, on two processors with a load of 25.
const tolerance = 15 * time.Millisecond * slowdown

// delays are what a slow server injects into the phases of an exchange. It notes
// how long each really took: a busy machine waits longer than it was asked to.
type delays struct {
	dns, tls, ttfb, transfer time.Duration

	mu   sync.Mutex
	real map[string]time.Duration
}

// wait injects a delay into a phase.
func (d *delays) wait(phase string, delay time.Duration) {
	began := time.Now()
	pause(delay)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.real[phase] += time.Since(began)
}

// reset forgets what earlier runs took.
func (d *delays) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.real = make(map[string]time.Duration)
}

// off returns by how much each phase of an observation differs from what was
// injected since the last reset.
func (d *delays) off(seen vigil.Observation) map[string]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := phasesOf(seen)
	for phase, real := range d.real {
		found[phase] -= real
	}
	return found
}

// pause waits.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// slow is a world whose name server, TLS handshake, first byte and last byte
// are late. It returns the URL of its https server under a name.
func slow(t *testing.T, d *delays) (*world, string) {
	t.Helper()
	server := probetest.Resolver(t, late(func() { d.wait("dns_ms", d.dns) }))
	w := newWorld(t, egress.WithNameServer(server))
	certificate := w.authority.Issue(t, probetest.ForNames("slow.test"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			d.wait("tls_ms", d.tls)
			return &certificate, nil
		},
	}
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.wait("ttfb_ms", d.ttfb)
		if r.URL.Path == "/again" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(w, "o")
		_ = http.NewResponseController(w).Flush()
		d.wait("transfer_ms", d.transfer)
		_, _ = io.WriteString(w, "k")
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = web.Serve(tls.NewListener(listener, config))
	}()
	t.Cleanup(func() {
		_ = web.Close()
		<-done
	})
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return w, "https://slow.test:" + port
}

// phasesOf reads the timings of an observation; absent phases are -1.
func phasesOf(seen vigil.Observation) map[string]time.Duration {
	found := make(map[string]time.Duration)
	timings, _ := seen.Metadata["timings"].(map[string]any)
	for _, name := range []string{"dns_ms", "connect_ms", "tls_ms", "ttfb_ms", "transfer_ms"} {
		found[name] = -1
		if ms, ok := timings[name].(float64); ok {
			found[name] = time.Duration(ms * float64(time.Millisecond))
		}
	}
	return found
}

// checkPhases fails when a phase is out of tolerance. On a machine that is busy
// with something else one measurement proves nothing: it takes the best of three.
func checkPhases(t *testing.T, parsed probe.Probe, injected *delays) {
	t.Helper()
	var wrong []string
	for range 3 {
		if wrong = phasesOff(t, parsed, injected); len(wrong) == 0 {
			return
		}
	}
	t.Errorf("out of tolerance: %s", strings.Join(wrong, ", "))
}

// phasesOff looks several times and lists the phases that are out of tolerance.
// A busy machine only adds, so that a phase is too long when it is in every run;
// it is too short when it is in the middle of the differences.
func phasesOff(t *testing.T, parsed probe.Probe, injected *delays) []string {
	t.Helper()
	const looks = 7
	all := make(map[string][]time.Duration)
	for range looks {
		injected.reset()
		seen := parsed.Run(t.Context())
		if !seen.Success {
			t.Fatalf("the probe failed: %s", seen.Error)
		}
		sum := time.Duration(0)
		for _, d := range phasesOf(seen) {
			sum += max(0, d)
		}
		if gap := seen.ResponseTime - sum; gap.Abs() > 100*time.Microsecond {
			t.Errorf("the phases make %s, the response time is %s", sum, seen.ResponseTime)
		}
		for phase, off := range injected.off(seen) {
			all[phase] = append(all[phase], off)
		}
	}
	var wrong []string
	for phase, list := range all {
		slices.Sort(list)
		least, middle := list[0], list[len(list)/2]
		t.Logf("%-12s off by %s, at least %s", phase, middle, least)
		if middle < -time.Millisecond || least > tolerance {
			wrong = append(wrong, fmt.Sprintf("%s by %s, at least %s", phase, middle, least))
		}
	}
	return wrong
}

func TestPhases(t *testing.T) { //nolint:paralleltest // measures time
	injected := &delays{dns: 30 * time.Millisecond, tls: 40 * time.Millisecond, ttfb: 50 * time.Millisecond, transfer: 20 * time.Millisecond}
	w, url := slow(t, injected)
	checkPhases(t, w.must(vigil.TypeHTTPS, object{"url": url + "/"}), injected)
}

func TestRedirectPhasesAreCountedOnce(t *testing.T) { //nolint:paralleltest // measures time
	injected := &delays{dns: 20 * time.Millisecond, tls: 20 * time.Millisecond, ttfb: 25 * time.Millisecond, transfer: 30 * time.Millisecond}
	w, url := slow(t, injected)
	checkPhases(t, w.must(vigil.TypeHTTPS, object{"url": url + "/again"}), injected)
	if n := injected.real["tls_ms"]; n < 2*injected.tls {
		t.Errorf("there was no redirect: the handshakes took %s together", n)
	}
}

func TestAddressesHaveNoNamePhase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := phasesOf(w.run(vigil.TypeHTTP, object{"url": w.http(site) + "/ok"}))
	if got["dns_ms"] != -1 || got["tls_ms"] != -1 || got["connect_ms"] < 0 || got["ttfb_ms"] < 0 {
		t.Errorf("got %v", got)
	}
}

// TestEveryRunConnectsAgain runs one probe twice: a connection that is
// kept would show no phases the second time.
func TestEveryRunConnectsAgain(t *testing.T) {
	t.Parallel()
	w, url := slow(t, &delays{real: make(map[string]time.Duration)})
	parsed := w.must(vigil.TypeHTTPS, object{"url": url + "/"})
	for range 2 {
		for name, d := range phasesOf(parsed.Run(t.Context())) {
			if d < 0 {
				t.Errorf("%s is absent", name)
			}
		}
	}
}

// TestConnectPhase loses the first packet of a connection, which the kernel
// repeats after a second, and compares with a plain connection that meets the
// same fate at the same time.
func TestConnectPhase(t *testing.T) { //nolint:paralleltest // measures time
	w := newWorld(t)
	const tries = 8 // the kernel may drop the second packet as well, for one of the two
	for try := range tries {
		measured, plain := lateConnection(t, w)
		t.Logf("connecting took %s, a plain connection %s", measured, plain)
		if (measured - plain).Abs() <= tolerance {
			break
		}
		if try == tries-1 {
			t.Errorf("off by %s", measured-plain)
		}
	}
	silent := w.must(vigil.TypeTCP, object{"host": "127.0.0.1", "port": portOf(t, fullBacklog(t)), "timeout_seconds": 1})
	seen := silent.Run(t.Context())
	onTime := strings.HasPrefix(seen.Error, "timed out after 1") && strings.HasSuffix(seen.Error, "s while connecting")
	if seen.Success || !onTime || phasesOf(seen)["connect_ms"] < time.Second {
		t.Errorf("a connection that never comes: %+v", seen)
	}
}

// lateConnection returns what a probe says that connecting took, and what it
// took for a plain dialer.
func lateConnection(t *testing.T, w *world) (measured, plain time.Duration) {
	t.Helper()
	fd, address := bindOnly(t)
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	fill, err := net.Dial("tcp", address) //nolint:noctx // fills the queue
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fill.Close() }()
	parsed := w.must(vigil.TypeTCP, object{"host": "127.0.0.1", "port": portOf(t, address)})
	var seen vigil.Observation
	var runs sync.WaitGroup
	runs.Go(func() { seen = parsed.Run(t.Context()) })
	runs.Go(func() {
		began := time.Now()
		if conn, err := net.Dial("tcp", address); err == nil { //nolint:noctx // ends with the test
			_ = conn.Close()
		}
		plain = time.Since(began)
	})
	pause(200 * time.Millisecond)
	for range 3 { // room for those who knock again
		runs.Go(func() {
			if conn, _, err := syscall.Accept(fd); err == nil {
				_ = syscall.Close(conn)
			}
		})
	}
	runs.Wait()
	if !seen.Success {
		t.Errorf("got %+v", seen)
	}
	return phasesOf(seen)["connect_ms"], plain
}

func portOf(tb testing.TB, address string) int {
	tb.Helper()
	_, port := hostPort(tb, address)
	return port
}
