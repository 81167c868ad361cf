// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// targetVariable makes the test binary serve the target of BenchmarkExchange instead of running tests. Its value
// is a targetConfig in JSON.
const targetVariable = "VIGIL_TEST_TARGET"

// BenchmarkExchange measures what a probe over a new connection costs, by the direct path and by that of net/http, in
// turn within one run. The target is a process of its own, so that its time is not counted. Probes come 167 a second, as
// 10,000 checks of one a minute do, and one after the other.
func BenchmarkExchange(b *testing.B) {
	authority := probetest.NewAuthority(b, nil)
	urls := startTarget(b, authority.Issue(b))
	guard := egress.New(egress.Policy{AllowPrivate: true})
	direct := probe.NewRegistry(guard, probe.WithRoots(authority.Pool()))
	transport := probe.NewRegistry(guard, probe.WithRoots(authority.Pool()), probe.OverTransport())
	for _, pace := range []struct {
		name  string
		every time.Duration
	}{{"Paced", time.Second / 167}, {"InARow", 0}} {
		for _, kind := range []string{"http", "https", "http2"} {
			b.Run(pace.name+"/"+kind, func(b *testing.B) {
				config := encode(b, object{"url": urls[kind]})
				costs := map[string]*cost{"direct": costOf(b, direct, config), "transport": costOf(b, transport, config)}
				for b.Loop() {
					for _, one := range costs {
						one.run(b, pace.every)
					}
				}
				for name, one := range costs {
					one.report(b, name)
				}
			})
		}
	}
}

// cost is what the probes of a path cost together.
type cost struct {
	probe.Probe

	probes, allocations, bytes uint64
	cpu                        time.Duration
}

func costOf(b *testing.B, registry *probe.Registry, config json.RawMessage) *cost {
	b.Helper()
	parsed, err := registry.Parse(vigil.TypeHTTP, config, minute)
	if err != nil {
		b.Fatal(err)
	}
	return &cost{Probe: parsed}
}

// run probes a few times, as often as given.
func (c *cost) run(b *testing.B, every time.Duration) {
	b.Helper()
	const probes = 50
	var ticks <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ctx := probe.KeepEvidence(b.Context(), func(vigil.Observation) bool { return true }) // as a worker does
	began := cpu(b)
	for range probes {
		if seen := c.Run(ctx); !seen.Success {
			b.Fatal(seen.Error)
		}
		if ticks != nil {
			<-ticks
		}
	}
	c.cpu += cpu(b) - began
	runtime.ReadMemStats(&after)
	c.probes += probes
	c.allocations += after.Mallocs - before.Mallocs
	c.bytes += after.TotalAlloc - before.TotalAlloc
}

func (c *cost) report(b *testing.B, name string) {
	b.Helper()
	b.ReportMetric(float64(c.cpu.Nanoseconds())/1e3/float64(c.probes), name+"-cpu-µs")
	b.ReportMetric(float64(c.allocations)/float64(c.probes), name+"-allocs")
	b.ReportMetric(float64(c.bytes)/float64(c.probes), name+"-bytes")
}

// startTarget starts the target and returns its addresses by kind.
func startTarget(b *testing.B, certificate tls.Certificate) map[string]string {
	b.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(targetConfig{Chain: certificate.Certificate, Key: key})
	if err != nil {
		b.Fatal(err)
	}
	target := exec.CommandContext(b.Context(), os.Args[0])
	target.Env = append(os.Environ(), targetVariable+"="+string(text))
	target.Stderr = os.Stderr
	target.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := target.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := target.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = target.Process.Kill()
		_ = target.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		b.Fatal(err)
	}
	var urls map[string]string
	if err := json.Unmarshal(line, &urls); err != nil {
		b.Fatal(err)
	}
	return urls
}

// targetConfig is the certificate of the target.
type targetConfig struct {
	Chain [][]byte
	Key   []byte
}

// serveTarget is the target's process. It never returns.
func serveTarget(config string) {
	var given targetConfig
	if err := json.Unmarshal([]byte(config), &given); err != nil {
		log.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(given.Key)
	if err != nil {
		log.Fatal(err)
	}
	certificate := tls.Certificate{Certificate: given.Chain, PrivateKey: key}
	urls := make(map[string]string)
	for kind, offered := range map[string][]string{"http": nil, "https": {"http/1.1"}, "http2": {"h2", "http/1.1"}} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		urls[kind] = "http://" + listener.Addr().String()
		server := &http.Server{
			ReadHeaderTimeout: minute,
			Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }),
		}
		if offered == nil {
			go func() { log.Fatal(server.Serve(listener)) }()
			continue
		}
		urls[kind] = "https://" + listener.Addr().String()
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: offered}
		if kind == "https" {
			server.TLSNextProto = make(map[string]func(*http.Server, *tls.Conn, http.Handler))
		}
		go func() { log.Fatal(server.ServeTLS(listener, "", "")) }()
	}
	if err := json.NewEncoder(os.Stdout).Encode(urls); err != nil {
		log.Fatal(err)
	}
	select {}
}
