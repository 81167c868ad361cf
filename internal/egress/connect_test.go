// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestDeadIPv6 connects to a name with a dead IPv6 address and a live IPv4 one.
func TestDeadIPv6(t *testing.T) {
	t.Parallel()
	listener, port := probetest.DeadIPv6(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	guard := egress.New(everything(), egress.WithNameServer(probetest.Resolver(t, probetest.At("::1", "127.0.0.1"))))
	var mu sync.Mutex
	var unused time.Duration
	ctx := egress.OnUnused(t.Context(), func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		unused += d
	})
	began := time.Now()
	conn, err := guard.DialContext(ctx, "tcp", "both.test.:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	took := time.Since(began)
	mu.Lock()
	defer mu.Unlock()
	if !strings.HasPrefix(conn.RemoteAddr().String(), "127.0.0.1:") || unused < 200*time.Millisecond || unused > took {
		t.Errorf("connected to %s after %s, of which %s were not used", conn.RemoteAddr(), took, unused)
	}
	var missing *egress.NoAddressError
	only4 := egress.New(everything(), egress.WithNameServer(probetest.Resolver(t, probetest.At("127.0.0.1"))))
	for _, address := range []string{"four.test.:" + port, "127.0.0.1:" + port} {
		_, err = only4.DialContext(t.Context(), "tcp6", address)
		if !errors.As(err, &missing) || !strings.HasSuffix(err.Error(), "has no IPv6 address") {
			t.Errorf("got %v", err)
		}
	}
}

// TestSilentAAAA: a name server that answers for one IP version only does not hold up the other.
func TestSilentAAAA(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	server := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
		if query.Question[0].Qtype != dns.TypeA {
			return
		}
		record, err := dns.NewRR(query.Question[0].Name + " 0 IN A 127.0.0.1")
		if err != nil {
			t.Error(err)
		}
		reply := new(dns.Msg).SetReply(query)
		reply.Answer = []dns.RR{record}
		_ = w.WriteMsg(reply)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // the resolver alone waits 10 s
	defer cancel()
	conn, err := egress.New(everything(), egress.WithNameServer(server)).DialContext(ctx, "tcp", "half.test.:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// TestErrorOfTheTarget: of several addresses that fail, the error says most of the target.
func TestErrorOfTheTarget(t *testing.T) {
	t.Parallel()
	_, port, _ := net.SplitHostPort(probetest.ClosedPort(t))
	// A multicast address is never reached, the loopback refuses.
	guard := egress.New(everything(), egress.WithNameServer(probetest.Resolver(t, probetest.At("127.0.0.1", "ff02::1"))))
	if _, err := guard.DialContext(t.Context(), "tcp", "mixed.test.:"+port); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
}
