// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"io"
	"net"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// stalls are targets that never finish, one for each place where they can stop.
func stalls(w *world) map[string]object {
	at := func(serve func(net.Conn)) string { return tcp(w, serve) }
	const head = "HTTP/1.1 200 OK\r\n"
	say := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = io.WriteString(conn, text)
			drain(conn)
		}
	}
	repeat := func(start, text string) func(net.Conn) {
		return func(conn net.Conn) {
			_, err := io.WriteString(conn, start)
			for err == nil {
				_, err = io.WriteString(conn, text)
			}
		}
	}
	return map[string]object{
		"resolving the name":          {"url": "http://silent.test.:80/"},
		"connecting":                  {"url": "http://" + fullBacklog(w)},
		"in the TLS handshake":        {"url": "https://" + at(drain)},
		"in the TLS handshake (part)": {"url": "https://" + at(say("\x16\x03\x03\x40\x00"))},
		"in the TLS handshake (drip)": {"url": "https://" + at(drip("\x16\x03\x03\x40\x00"))},
		"waiting for the first byte":  {"url": "http://" + at(drain)},
		"reading the answer":          {"url": "http://" + at(say(head+"X: "))},
		"reading the answer (drip)":   {"url": "http://" + at(drip(head))},
		"reading the body":            {"url": "http://" + at(say(head+"Content-Length: 100\r\n\r\nshort"))},
		"reading the body (chunk)":    {"url": "http://" + at(say(head+"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"))},
		"endless headers":             {"url": "http://" + at(repeat(head, "X: "+strings.Repeat("y", 4<<10)+"\r\n"))},
		"endless interim answers":     {"url": "http://" + at(repeat("", "HTTP/1.1 103 Early Hints\r\n\r\n"))},
		"endless body":                {"url": "http://" + at(repeat(head+"\r\n", strings.Repeat("x", 64<<10)))},
		"reading the answer (moved)":  {"url": "http://" + at(say("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"))},
		"endless redirect":            {"url": "http://" + at(say("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"))},
		"waiting for the expected text": func() object {
			host, port := hostPort(w, at(drain))
			return object{"host": host, "port": port, "expect": "x"}
		}(),
	}
}

// drip sends a text a byte at a time, then spaces, for ever.
func drip(text string) func(net.Conn) {
	return func(conn net.Conn) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			drain(conn)
		}()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			next := byte(' ')
			if i < len(text) {
				next = text[i]
			}
			if _, err := conn.Write([]byte{next}); err != nil {
				_ = conn.Close()
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	}
}

// fullBacklog is an address whose queue of connections is full: what knocks
// there gets no answer at all.
func fullBacklog(tb testing.TB) string {
	tb.Helper()
	fd, address := bindOnly(tb)
	if err := syscall.Listen(fd, 0); err != nil {
		tb.Fatal(err)
	}
	for range 3 {
		conn, err := net.DialTimeout("tcp", address, 50*time.Millisecond) //nolint:noctx // fills the queue
		if err == nil {
			tb.Cleanup(func() { _ = conn.Close() })
		}
	}
	return address
}

// TestStallingTargets sends 10,000 probes to targets that stall. None may run
// over its deadline, and none may leave anything behind.
func TestStallingTargets(t *testing.T) { //nolint:paralleltest // goroutines and descriptors are counted
	if testing.Short() {
		t.Skip("skipped in short mode: it runs 10,000 probes")
	}
	const total, atOnce = 10_000, 150
	goroutines, open := runtime.NumGoroutine(), descriptors(t)
	t.Run("All", func(t *testing.T) {
		silent := probetest.NameServer(t, func(dns.ResponseWriter, *dns.Msg) {})
		w := newWorld(t, egress.WithNameServer(silent))
		targets := stalls(w)
		slots, slowest := make(chan struct{}, atOnce), time.Duration(0)
		var mu sync.Mutex
		var runs sync.WaitGroup
		for name, config := range targets {
			kind := vigil.TypeHTTP
			if config["host"] != nil {
				kind = vigil.TypeTCP
			}
			parsed := w.must(kind, config)
			for range total/len(targets) + 1 {
				slots <- struct{}{}
				runs.Go(func() {
					defer func() { <-slots }()
					took := stalled(t, parsed, name)
					mu.Lock()
					defer mu.Unlock()
					slowest = max(slowest, took)
				})
			}
		}
		runs.Wait()
		t.Logf("%d probes, the slowest %s", (total/len(targets)+1)*len(targets), slowest)
	})
	eventually(t, "goroutines and descriptors are where they were", func() bool {
		return runtime.NumGoroutine() <= goroutines && descriptors(t) <= open
	})
	t.Logf("goroutines %d before, %d after; descriptors %d before, %d after",
		goroutines, runtime.NumGoroutine(), open, descriptors(t))
}

// stalled runs a probe that has to fail, and returns how long it took.
func stalled(t *testing.T, parsed probe.Probe, name string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	began := time.Now()
	seen := parsed.Run(ctx)
	took := time.Since(began)
	if seen.Error == "" && name != "endless body" || took > stuck {
		t.Errorf("%s: %s, %q", name, took, seen.Error)
	}
	return took
}

func TestTimeoutsNameThePhase(t *testing.T) {
	t.Parallel()
	silent := probetest.NameServer(t, func(dns.ResponseWriter, *dns.Msg) {})
	w := newWorld(t, egress.WithNameServer(silent))
	elapsed := regexp.MustCompile(`after (\S+) while`)
	for name, config := range stalls(w) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := vigil.TypeHTTP
			if config["host"] != nil {
				kind = vigil.TypeTCP
			}
			limit := 2 * time.Second // the server has to get to where it stalls
			if strings.HasPrefix(name, "endless ") {
				limit = minute // they end by themselves
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			seen := w.must(kind, config).Run(ctx)
			phase, _, _ := strings.Cut(name, " (")
			want := "timed out after 2s while " + phase
			switch name {
			case "endless headers", "endless interim answers":
				want = "the headers of the answer exceed 64 KiB"
			case "endless redirect":
				want = "stopped after 10 redirects"
			case "endless body":
				want = ""
			}
			got := seen.Error
			if said := elapsed.FindStringSubmatch(got); said != nil {
				// A busy machine may be later than asked, never sooner.
				if took, err := time.ParseDuration(said[1]); err == nil && took >= 1990*time.Millisecond {
					got = elapsed.ReplaceAllString(got, "after 2s while")
				}
			}
			if !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("got %q, want %q", seen.Error, want)
			}
		})
	}
}

// TestBodiesAreBounded holds the memory of many probes of endless bodies.
func TestBodiesAreBounded(t *testing.T) { //nolint:paralleltest // memory is counted
	w := newWorld(t)
	bomb := w.must(vigil.TypeHTTP, object{
		"url":        w.http(site) + "/bomb",
		"assertions": []object{{"source": "json", "property": "$.x", "operator": "exists"}},
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const runs = 20
	for range runs {
		if seen := bomb.Run(t.Context()); seen.Success || !strings.Contains(seen.Error, "larger than 1024 KiB") {
			t.Fatalf("got %+v", seen)
		}
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / runs
	t.Logf("%d KiB allocated for a body of 512 MiB, both sides together", each>>10)
	if each > 16<<20 {
		t.Errorf("%d bytes allocated for each", each)
	}
}
