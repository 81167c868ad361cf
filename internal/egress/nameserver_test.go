// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// overTCP is a name server that refers every question to TCP, where the
// listener leaves the answer to the test.
func overTCP(t *testing.T) (netip.AddrPort, net.Listener) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	socket, err := net.ListenPacket("udp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		packet := make([]byte, 4096)
		for {
			n, from, err := socket.ReadFrom(packet)
			if err != nil {
				return
			}
			question := new(dns.Msg)
			if question.Unpack(packet[:n]) != nil {
				continue
			}
			answer := new(dns.Msg).SetReply(question)
			answer.Truncated = true
			if reply, err := answer.Pack(); err == nil {
				_, _ = socket.WriteTo(reply, from)
			}
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String()), listener
}

// silent is a name server that never answers.
func silent(t *testing.T) netip.AddrPort {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return netip.MustParseAddrPort(socket.LocalAddr().String())
}

func TestNameServerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	closed := netip.MustParseAddrPort(probetest.ClosedPort(t))
	for name, server := range map[string]netip.AddrPort{
		"UDP": closed,
		// A socket cannot be connected to a link-local address without its zone.
		"NoRoute": netip.MustParseAddrPort("[fe80::1]:53"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guard := egress.New(everything(), egress.WithNameServer(server))
			_, err := guard.Resolve(t.Context(), "ip4", "unreachable.test.")
			var failure *net.DNSError
			if !errors.As(err, &failure) || failure.IsNotFound || !strings.HasPrefix(err.Error(), "resolve: ") {
				t.Errorf("resolving gave %v, want the failure of the name server", err)
			}
			conn, err := guard.DialContext(t.Context(), "tcp", "unreachable.test.:80")
			if conn != nil || !errors.As(err, &failure) || !strings.HasPrefix(err.Error(), "dial: ") {
				t.Errorf("dialling gave %v, want the failure of the name server", err)
			}
		})
	}
}

func TestDialerTimeout(t *testing.T) {
	t.Parallel()
	guard := egress.New(everything(), egress.WithNameServer(silent(t)))
	began := time.Now()
	_, err := guard.Dialer(50*time.Millisecond).DialContext(t.Context(), "tcp", "silent.test.:80")
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(began) > 4*time.Second {
		t.Errorf("after %v: %v, want a timeout", time.Since(began), err)
	}
	if dialer := guard.Dialer(0); dialer.Timeout != 0 || dialer.KeepAlive >= 0 {
		t.Errorf("timeout %v, keep-alive %v: want no limit but the context's, and no probes", dialer.Timeout, dialer.KeepAlive)
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	guard := egress.New(everything(), egress.WithNameServer(silent(t)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := guard.DialContext(ctx, "tcp", "silent.test.:80"); err == nil || time.Since(began) > 4*time.Second {
		t.Errorf("dialling ended after %v with %v", time.Since(began), err)
	}
	if _, err := guard.Resolve(ctx, "ip", "silent.test."); err == nil || time.Since(began) > 4*time.Second {
		t.Errorf("resolving ended after %v with %v", time.Since(began), err)
	}
}

// TestQueryEndsWithItsContext: the resolver itself would wait 5 s for an answer
// after its caller has left.
func TestQueryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server, listener := overTCP(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = egress.New(everything(), egress.WithNameServer(server)).Resolve(ctx, "ip4", "slow.test.")
	}()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatalf("no query arrived: %v", err)
	}
	cancel()
	began := time.Now()
	if _, err := io.Copy(io.Discard, conn); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("the query ended %v after its context, with %v", time.Since(began), err)
	}
}

// TestTraceLeavesOutNameServers: a trace in the context is about the target.
func TestTraceLeavesOutNameServers(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	server := probetest.Resolver(t, probetest.At("127.0.0.1"))
	var mu sync.Mutex
	var connected []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{ConnectStart: func(_, address string) {
		mu.Lock()
		defer mu.Unlock()
		connected = append(connected, address)
	}})
	conn, err := egress.New(everything(), egress.WithNameServer(server)).DialContext(ctx, "tcp4", "traced.test.:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(connected, []string{listener.Addr().String()}) {
		t.Errorf("the trace has connections to %v, want the target only", connected)
	}
}

func TestResolveReportsTheFirstRefusal(t *testing.T) {
	t.Parallel()
	server := probetest.Resolver(t, func(q dns.Question) []string {
		if q.Qtype == dns.TypeA {
			return []string{"A 10.0.0.1", "A 10.0.0.2"}
		}
		return nil
	})
	guard := egress.New(egress.Policy{}, egress.WithNameServer(server))
	addrs, err := guard.Resolve(t.Context(), "ip4", "private.test.")
	var refusal *egress.Refusal
	if len(addrs) != 0 || !errors.As(err, &refusal) || refusal.Target != "private.test." {
		t.Errorf("got %v and %v", addrs, err)
	}
	if addrs, err := egress.New(everything()).Resolve(t.Context(), "ip6", "[::1]"); err != nil || len(addrs) != 1 {
		t.Errorf("an address in brackets gave %v and %v", addrs, err)
	}
}

// TestLostQuery: a query that gets lost is sent again, long before the resolver gives up.
func TestLostQuery(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	lost := make(map[uint16]bool)
	answer := probetest.At("127.0.0.1", "::1")
	server := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
		mu.Lock()
		defer mu.Unlock()
		kind := query.Question[0].Qtype
		if !lost[kind] {
			lost[kind] = true
			return
		}
		reply := new(dns.Msg).SetReply(query)
		for _, text := range answer(query.Question[0]) {
			record, err := dns.NewRR(query.Question[0].Name + " 0 IN " + text)
			if err != nil {
				t.Error(err)
			}
			reply.Answer = append(reply.Answer, record)
		}
		_ = w.WriteMsg(reply)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	addrs, err := egress.New(everything(), egress.WithNameServer(server)).Resolve(ctx, "ip", "lossy.test.")
	if err != nil || len(addrs) != 2 {
		t.Errorf("got %v, %v", addrs, err)
	}
}
