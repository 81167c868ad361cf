// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestMain runs several tests at once: they wait for timeouts. It fails when anything is left running.
func TestMain(m *testing.M) {
	if config := os.Getenv(targetVariable); config != "" {
		serveTarget(config)
	}
	timingtest.AtOnce(4)
	goleak.VerifyTestMain(m)
}

const minute = time.Minute

// stuck is more than a probe takes whose deadline is past: what it computes, such
// as one match of a pattern, goes on to its end, under the race detector slowly.
const stuck = 5 * time.Second * slowdown

// world is the surroundings of one test: an authority that the probes trust,
// and a registry that may reach the loopback.
type world struct {
	testing.TB
	*probe.Registry

	authority *probetest.Authority
}

func newWorld(tb testing.TB, opts ...egress.Option) *world {
	tb.Helper()
	a := probetest.NewAuthority(tb, nil)
	guard := egress.New(egress.Policy{AllowPrivate: true}, opts...)
	return &world{TB: tb, Registry: probe.NewRegistry(guard, probe.WithRoots(a.Pool())), authority: a}
}

// object is a config in the making.
type object = map[string]any

func encode(tb testing.TB, config any) json.RawMessage {
	tb.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// must parses a config that is right.
func (w *world) must(kind vigil.CheckType, config any) probe.Probe {
	w.Helper()
	parsed, err := w.Parse(kind, encode(w, config), minute)
	if err != nil {
		w.Fatalf("parse %s: %v", encode(w, config), err)
	}
	return parsed
}

// run looks once at what a config names.
func (w *world) run(kind vigil.CheckType, config any) vigil.Observation {
	w.Helper()
	return w.must(kind, config).Run(w.Context())
}

// http and https serve until the test ends, and return their URLs.
func (w *world) http(handler http.HandlerFunc) string {
	w.Helper()
	server := httptest.NewServer(handler)
	w.Cleanup(server.Close)
	return server.URL
}

func (w *world) https(certificate tls.Certificate, handler http.HandlerFunc) string {
	w.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	w.Cleanup(server.Close)
	return server.URL
}

// tcp serves each connection with serve until the test ends. Serve gets a
// connection that is closed at the latest when the test ends.
func tcp(tb testing.TB, serve func(net.Conn)) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return serveOn(tb, listener, serve)
}

func serveOn(tb testing.TB, listener net.Listener, serve func(net.Conn)) string {
	tb.Helper()
	probetest.Serve(tb, listener, serve)
	return listener.Addr().String()
}

// drain reads until the other side is done.
func drain(conn net.Conn) {
	buffer := make([]byte, 4096)
	for {
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
}

// hostPort splits an address into the members that most configs have.
func hostPort(tb testing.TB, address string) (host string, port int) {
	tb.Helper()
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		tb.Fatal(err)
	}
	return parsed.Addr().String(), int(parsed.Port())
}

// serverAt adds an address to the members of a config.
func serverAt(tb testing.TB, address string, more object) object {
	tb.Helper()
	more["host"], more["port"] = hostPort(tb, address)
	return more
}

// closedPort is an address that refuses connections.
func closedPort(tb testing.TB) string {
	tb.Helper()
	_, address := bindOnly(tb)
	return address
}

// bindOnly reserves a port of the loopback without listening on it.
func bindOnly(tb testing.TB) (fd int, address string) {
	tb.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		tb.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		tb.Fatal(err)
	}
	inet, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		tb.Fatalf("bound to %v", name)
	}
	return fd, fmt.Sprintf("127.0.0.1:%d", inet.Port)
}

// late answers every A question with 127.0.0.1, after calling before.
func late(before func()) func(dns.Question) []string {
	return func(question dns.Question) []string {
		if question.Qtype == dns.TypeA {
			before()
		}
		return probetest.At("127.0.0.1")(question)
	}
}

// descriptors counts the open file descriptors of this process.
func descriptors(tb testing.TB) int {
	tb.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Skip("this system does not list descriptors")
	}
	return len(entries)
}

// eventually waits until a condition holds that others bring about.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	timingtest.Eventually(tb, 30*time.Second, what, condition)
}

// banner says a text and then nothing.
func banner(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		drain(conn)
	}
}
