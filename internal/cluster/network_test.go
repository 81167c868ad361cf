// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// inside opens a socket for datagrams on a host. A socket stays in the namespace in which it was opened.
func inside(t *testing.T, n *namespaces, h *Host) net.PacketConn {
	t.Helper()
	type opened struct {
		conn net.PacketConn
		err  error
	}
	done := make(chan opened)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		file, err := os.Open("/var/run/netns/" + n.name(h))
		if err == nil {
			defer func() { _ = file.Close() }()
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		}
		if err != nil {
			done <- opened{nil, err}
			return
		}
		conn, err := net.ListenPacket("udp4", net.JoinHostPort(h.Address, "0"))
		done <- opened{conn, err}
	}()
	one := <-done
	if one.err != nil {
		t.Fatal(one.err)
	}
	t.Cleanup(func() { _ = one.conn.Close() })
	return one.conn
}

// arrives sends datagrams until one arrives, or for a time where none is to.
func arrives(t *testing.T, from, to net.PacketConn, want bool) bool {
	t.Helper()
	limit := waitLimit
	if !want {
		limit = 300 * time.Millisecond
	}
	buffer := make([]byte, 64)
	for until := time.Now().Add(limit); time.Now().Before(until); {
		// Where its own packets are dropped, a host gets "operation not permitted".
		_, _ = from.WriteTo([]byte("hello"), to.LocalAddr())
		_ = to.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, _, err := to.ReadFrom(buffer); err == nil {
			return true
		}
	}
	return false
}

// drain takes what has arrived already.
func drain(t *testing.T, conn net.PacketConn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	for buffer := make([]byte, 64); ; {
		if _, _, err := conn.ReadFrom(buffer); err != nil {
			return
		}
	}
}

// joined is a network of hosts with some hosts, or skips the test.
func joined(t *testing.T, kinds ...Kind) (*namespaces, []*Host) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("networks of hosts need root")
	}
	for _, name := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(name); err != nil && !exists("/usr/sbin/"+name) {
			t.Skipf("this machine has no %s: make proxies installs nft", name)
		}
	}
	n, err := newNamespaces()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(n.close)
	hosts := make([]*Host, len(kinds))
	for i, kind := range kinds {
		hosts[i] = newHost(kind, fmt.Sprintf("%s-%d", kind, i), n.base().Addr(), octets()[kind]+i)
		if err := n.join(hosts[i]); err != nil {
			t.Skip(err)
		}
	}
	return n, hosts
}

// TestCuts sends datagrams to and from a host that is cut off in each way, and in none again.
func TestCuts(t *testing.T) { //nolint:paralleltest // the network of hosts is named by the process
	n, hosts := joined(t, KindHistory, KindAPI)
	one, other := hosts[0], hosts[1]
	taken, peer := inside(t, n, one), inside(t, n, other)
	timingtest.Eventually(t, waitLimit, "the hosts reach each other", func() bool {
		return arrives(t, taken, peer, true) && arrives(t, peer, taken, true)
	})
	for _, test := range []struct {
		way     Way
		in, out bool
	}{{WayBoth, false, false}, {WayIn, false, true}, {WayOut, true, false}} {
		if err := n.cut(one, test.way); err != nil {
			t.Fatal(err)
		}
		drain(t, taken)
		drain(t, peer)
		if in, out := arrives(t, peer, taken, test.in), arrives(t, taken, peer, test.out); in != test.in || out != test.out {
			t.Errorf("cut off %s: what is sent to the host arrives %v, what it sends %v; want %v and %v", test.way, in, out, test.in, test.out)
		}
		if err := n.mend(one); err != nil {
			t.Fatal(err)
		}
		if in, out := arrives(t, peer, taken, true), arrives(t, taken, peer, true); !in || !out {
			t.Errorf("after a cut %s: what is sent to the host arrives %v, what it sends %v", test.way, in, out)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
