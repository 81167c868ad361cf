// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
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
	target := startTarget(b, authority.Issue(b))
	guard := egress.New(egress.Policy{AllowPrivate: true})
	direct := probe.NewRegistry(guard, probe.WithRoots(authority.Pool()))
	transport := probe.NewRegistry(guard, probe.WithRoots(authority.Pool()), probe.OverTransport())
	for _, pace := range []struct {
		name  string
		every time.Duration
	}{{"Paced", time.Second / 167}, {"InARow", 0}} {
		for _, kind := range []string{"http", "https", "http2"} {
			b.Run(pace.name+"/"+kind, func(b *testing.B) {
				config := encode(b, object{"url": target.urls[kind]})
				costs := map[string]*cost{"direct": costOf(b, direct, config, target), "transport": costOf(b, transport, config, target)}
				if pace.every > 0 {
					costs["nothing"] = &cost{Probe: nothing{}, against: target}
				}
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

// nothing is a probe that does nothing: what waiting for the next one costs is no part of the others.
type nothing struct{ probe.Probe }

func (nothing) Run(context.Context) vigil.Observation { return vigil.Observation{Success: true} }

// cost is what the probes of a path cost together.
type cost struct {
	probe.Probe

	against                    *target
	probes, allocations, bytes uint64
	cpu, ofTarget, responses   time.Duration
}

func costOf(b *testing.B, registry *probe.Registry, config json.RawMessage, against *target) *cost {
	b.Helper()
	parsed, err := registry.Parse(vigil.TypeHTTP, config, minute)
	if err != nil {
		b.Fatal(err)
	}
	return &cost{Probe: parsed, against: against}
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
	began, targetBegan := cpu(b), c.against.cpu(b)
	for range probes {
		seen := c.Run(ctx)
		if !seen.Success {
			b.Fatal(seen.Error)
		}
		c.responses += seen.ResponseTime
		if ticks != nil {
			<-ticks
		}
	}
	c.cpu += cpu(b) - began
	c.ofTarget += c.against.cpu(b) - targetBegan
	runtime.ReadMemStats(&after)
	c.probes += probes
	c.allocations += after.Mallocs - before.Mallocs
	c.bytes += after.TotalAlloc - before.TotalAlloc
}

func (c *cost) report(b *testing.B, name string) {
	b.Helper()
	b.ReportMetric(float64(c.cpu.Nanoseconds())/1e3/float64(c.probes), name+"-cpu-µs")
	if name == "nothing" {
		return
	}
	b.ReportMetric(float64(c.cpu)/float64(c.ofTarget), name+"-x-target")
	b.ReportMetric(float64(c.responses.Nanoseconds())/1e3/float64(c.probes), name+"-response-µs")
	b.ReportMetric(float64(c.allocations)/float64(c.probes), name+"-allocs")
	b.ReportMetric(float64(c.bytes)/float64(c.probes), name+"-bytes")
}

// target is the process that BenchmarkExchange asks.
type target struct {
	urls    map[string]string // by kind
	ask     io.Writer
	answers *bufio.Scanner
}

// cpu is the processor time that the target has used.
func (t *target) cpu(b *testing.B) time.Duration {
	b.Helper()
	if _, err := io.WriteString(t.ask, "\n"); err != nil || !t.answers.Scan() {
		b.Fatal("the target does not answer")
	}
	spent, err := time.ParseDuration(t.answers.Text())
	if err != nil {
		b.Fatal(err)
	}
	return spent
}

// startTarget starts a target, which ends when its standard input does.
func startTarget(b *testing.B, certificate tls.Certificate) *target {
	b.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(targetConfig{Chain: certificate.Certificate, Key: key})
	if err != nil {
		b.Fatal(err)
	}
	command := exec.CommandContext(b.Context(), os.Args[0])
	command.Env = append(os.Environ(), targetVariable+"="+string(text))
	command.Stderr = os.Stderr
	ask, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = ask.Close()
		_ = command.Wait()
	})
	started := &target{ask: ask, answers: bufio.NewScanner(output)}
	started.answers.Scan()
	if err := json.Unmarshal(started.answers.Bytes(), &started.urls); err != nil {
		b.Fatal(err)
	}
	return started
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
	for questions := bufio.NewScanner(os.Stdin); questions.Scan(); {
		_, _ = fmt.Fprintln(os.Stdout, processorTime(func(err error) { log.Fatal(err) }))
	}
	os.Exit(0)
}
