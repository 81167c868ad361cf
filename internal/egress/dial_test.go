// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

func TestRebinding(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	var asked atomic.Int32
	server := probetest.Resolver(t, func(q dns.Question) []string {
		if q.Qtype != dns.TypeA {
			return nil
		}
		if asked.Add(1) == 1 {
			return []string{"A 93.184.216.34"}
		}
		return []string{"A 127.0.0.1"}
	})
	guard := egress.New(egress.Policy{}, egress.WithNameServer(server))

	addrs, err := guard.Resolve(t.Context(), "ip", "rebind.test.")
	if err != nil || len(addrs) != 1 || addrs[0].Unmap().String() != "93.184.216.34" {
		t.Fatalf("the first answer is public: %v, %v", addrs, err)
	}
	var refusal *egress.Refusal
	if _, err = guard.DialContext(t.Context(), "tcp", "rebind.test.:"+port); !errors.As(err, &refusal) {
		t.Errorf("the second answer is loopback, but dialling gave %v", err)
	}
	if _, err = guard.DialContext(t.Context(), "udp", "rebind.test.:"+port); !errors.As(err, &refusal) {
		t.Errorf("the second answer is loopback, but dialling UDP gave %v", err)
	}
	if _, err = guard.Resolve(t.Context(), "ip", "rebind.test."); !errors.As(err, &refusal) {
		t.Errorf("the second answer is loopback, but resolving gave %v", err)
	}
}

func TestResolveDropsWhatIsRefused(t *testing.T) {
	t.Parallel()
	server := probetest.Resolver(t, func(q dns.Question) []string {
		if q.Qtype == dns.TypeA {
			return []string{"A 169.254.169.254", "A 93.184.216.34", "A 10.0.0.1"}
		}
		return nil
	})
	guard := egress.New(egress.Policy{}, egress.WithNameServer(server))
	addrs, err := guard.Resolve(t.Context(), "ip4", "mixed.test.")
	if err != nil || len(addrs) != 1 || addrs[0].Unmap().String() != "93.184.216.34" {
		t.Errorf("got %v, %v", addrs, err)
	}
	if addrs, err := guard.Resolve(t.Context(), "ip", "[::1]"); err == nil {
		t.Errorf("a literal loopback address was resolved to %v", addrs)
	}
}

func TestResolveNumbersAreNames(t *testing.T) {
	t.Parallel()
	server := probetest.Resolver(t, func(dns.Question) []string { return nil })
	guard := egress.New(everything(), egress.WithNameServer(server))
	for _, host := range []string{"2130706433", "0x7f000001", "127.1", "0177.0.0.1", "017700000001"} {
		if addrs, err := guard.Resolve(t.Context(), "ip", host+"."); err == nil {
			t.Errorf("%s was read as %v", host, addrs)
		}
	}
}

func TestConnectionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := egress.New(everything()).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read on it ended with %v", err)
	}
	if err := conn.Close(); err != nil {
		t.Errorf("closing it then: %v", err)
	}
}

func TestRefusalIsASentence(t *testing.T) {
	t.Parallel()
	_, err := egress.New(egress.Policy{}).DialContext(t.Context(), "tcp", "10.1.2.3:80")
	var refusal *egress.Refusal
	if !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	want := "10.1.2.3:80 is a private address, and this instance reaches public addresses only; " +
		"its operator can permit it with VIGIL_ALLOWED_PRIVATE_CIDRS"
	if got := refusal.Error(); got != want || strings.Contains(got, "\n") {
		t.Errorf("got %q", got)
	}
}
