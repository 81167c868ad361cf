// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"
	"golang.org/x/sys/unix"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestDeadIPv6 asks every type that connects for a name with a dead IPv6 address and a live IPv4
// one: it is UP, and what the dead one took is not response time.
func TestDeadIPv6(t *testing.T) {
	t.Parallel()
	w := newWorld(t, egress.WithNameServer(probetest.Resolver(t, probetest.At("::1", "127.0.0.1"))))
	certificate := w.authority.Issue(t, probetest.ForNames("both.test"))
	plain, plainPort := probetest.DeadIPv6(t)
	secured, securedPort := probetest.DeadIPv6(t)
	quiet, mailPort := probetest.DeadIPv6(t)
	serveHTTP(t, plain)
	serveHTTP(t, tls.NewListener(secured, &tls.Config{Certificates: []tls.Certificate{certificate}}))
	serveOn(t, quiet, banner("220 both.test\r\n250 both.test\r\n221 bye\r\n"))
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	overQUIC(t, certificate, number(securedPort))
	for kind, config := range map[vigil.CheckType]object{
		vigil.TypeHTTP:       {"url": "http://both.test:" + plainPort},
		vigil.TypeHTTPS:      {"url": "https://both.test:" + securedPort},
		vigil.TypeHTTP3:      {"url": "https://both.test:" + securedPort},
		vigil.TypeTCP:        {"host": "both.test", "port": number(plainPort)},
		vigil.TypeSSL:        {"host": "both.test", "port": number(securedPort)},
		vigil.TypeThroughput: {"url": "http://both.test:" + plainPort},
		vigil.TypeSMTPIMAP:   {"smtp": object{"host": "both.test", "port": number(mailPort), "security": "none"}},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			parsed := w.must(kind, config)
			began := time.Now()
			seen := parsed.Run(t.Context())
			took := time.Since(began)
			if !seen.Success || took > 4*time.Second*slowdown {
				t.Errorf("after %s: %s", took, seen.Error)
			}
			if seen.ResponseTime > took-200*time.Millisecond {
				t.Errorf("took %s, response time %s: that of the dead address is counted", took, seen.ResponseTime)
			}
		})
	}
}

func serveHTTP(t *testing.T, listener net.Listener) {
	t.Helper()
	server := &httptest.Server{Listener: listener, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }),
	}}
	server.Start()
	t.Cleanup(server.Close)
}

// overQUIC serves HTTP/3 on a port of 127.0.0.1.
func overQUIC(t *testing.T, certificate tls.Certificate, port int) {
	t.Helper()
	packets, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	server := &http3.Server{
		Handler:   http.HandlerFunc(echo),
		TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate}}),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(packets)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		_ = packets.Close()
		<-done
	})
}

// inNamespace is set in the process that TestPingDeadIPv6 starts.
const inNamespace = "VIGIL_TEST_PING_NAMESPACE"

// TestPingDeadIPv6 pings a name whose IPv6 address does not reply, in a network of its own where
// the kernel has a setting that ignores the requests of one IP version.
func TestPingDeadIPv6(t *testing.T) {
	t.Parallel()
	if os.Getenv(inNamespace) != "" {
		pingDeadIPv6(t)
		return
	}
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), itself, "-test.run=^TestPingDeadIPv6$", "-test.v")
	command.Env = append(os.Environ(), inNamespace+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	output, err := command.CombinedOutput()
	switch {
	case len(output) == 0 && err != nil:
		t.Skipf("this machine permits no network of one's own: %v", err)
	case err != nil:
		t.Errorf("%v:\n%s", err, output)
	case strings.Contains(string(output), "--- SKIP"):
		t.Skipf("%s", output)
	}
}

func pingDeadIPv6(t *testing.T) {
	t.Helper()
	loopbackUp(t)
	if err := os.WriteFile("/proc/sys/net/ipv6/icmp/echo_ignore_all", []byte("1"), 0o600); err != nil {
		t.Skip(err)
	}
	w := newWorld(t, egress.WithNameServer(probetest.Resolver(t, probetest.At("::1", "127.0.0.1"))))
	for version, up := range map[string]bool{"any": true, "4": true, "6": false} {
		seen := w.run(vigil.TypePing, object{"host": "both.test", "ip_version": version, "timeout_seconds": 2})
		if seen.Unavailable {
			t.Skip(seen.Error)
		}
		if seen.Success != up || up && (seen.Metadata["ip"] != "127.0.0.1" || seen.ResponseTime > 100*time.Millisecond*slowdown) {
			t.Errorf("version %s: %+v", version, seen)
		}
		if !up && (seen.Metadata["ip"] != "::1" || !seen.NetworkFailure) {
			t.Errorf("version %s: %+v", version, seen)
		}
	}
	only4 := newWorld(t, egress.WithNameServer(probetest.Resolver(t, probetest.At("127.0.0.1"))))
	if seen := only4.run(vigil.TypePing, object{"host": "four.test", "ip_version": "6"}); seen.Error != "four.test has no IPv6 address" {
		t.Errorf("got %+v", seen)
	}
}

// loopbackUp brings the loopback of a new network up.
func loopbackUp(t *testing.T) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := setUp(fd, "lo"); err != nil {
		t.Skip(err)
	}
}

// setUp makes an interface pass packets.
func setUp(fd int, name string) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
