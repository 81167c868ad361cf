// SPDX-License-Identifier: Apache-2.0

package probetest

import (
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// DeadIPv6 listens on a port of 127.0.0.1 of which the same port of ::1 does not answer until the
// test ends: connections to it, and packets, vanish.
func DeadIPv6(tb testing.TB) (alive net.Listener, port string) {
	tb.Helper()
	for range 20 {
		listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		address := netip.MustParseAddrPort(listener.Addr().String())
		if swallow(tb, int(address.Port())) {
			tb.Cleanup(func() { _ = listener.Close() })
			_, port, _ = net.SplitHostPort(listener.Addr().String())
			return listener, port
		}
		_ = listener.Close()
	}
	tb.Skip("this machine has no IPv6 loopback")
	return nil, ""
}

// swallow takes a port of ::1: for TCP with a full queue, which the kernel answers with silence,
// and for UDP with a socket that is not read.
func swallow(tb testing.TB, port int) bool {
	tb.Helper()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	at := &net.UDPAddr{IP: net.IPv6loopback, Port: port}
	if syscall.Bind(fd, &syscall.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}) != nil || syscall.Listen(fd, 0) != nil {
		_ = syscall.Close(fd)
		return false
	}
	packets, err := net.ListenUDP("udp6", at) //nolint:forbidigo // on the loopback
	if err != nil {
		_ = syscall.Close(fd)
		return false
	}
	tb.Cleanup(func() {
		_ = syscall.Close(fd)
		_ = packets.Close()
	})
	fill := net.Dialer{Timeout: 50 * time.Millisecond} //nolint:forbidigo // to a socket of its own
	for range 3 {
		conn, err := fill.DialContext(tb.Context(), "tcp6", at.String()) //nolint:forbidigo // to a socket of its own
		if err == nil {
			tb.Cleanup(func() { _ = conn.Close() })
		}
	}
	return true
}
