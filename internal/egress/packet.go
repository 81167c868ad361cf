// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// packetBuffer bounds what the kernel keeps for a socket, in bytes.
const packetBuffer = 1 << 20

// packetConn is a UDP socket that speaks to one address only.
type packetConn struct {
	net.PacketConn

	udp     *net.UDPConn
	remote  netip.AddrPort
	release func() bool
	once    sync.Once
	err     error
}

// ListenPacket opens a UDP socket for a protocol that handles packets itself,
// such as QUIC. Only the remote address, which is judged now, can be written to:
// no answer of a server can move the exchange elsewhere. The socket ends
// with ctx.
func (g *Guard) ListenPacket(ctx context.Context, remote netip.AddrPort) (net.PacketConn, error) {
	if err := g.judge(remote.Addr(), remote.Port()); err != nil {
		return nil, err
	}
	network := "udp6"
	if remote.Addr().Unmap().Is4() {
		network = "udp4"
	}
	udp, err := net.ListenUDP(network, nil)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &packetConn{PacketConn: udp, udp: udp, remote: unmap(remote)}
	p.release = context.AfterFunc(ctx, p.close)
	return p, nil
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

func (p *packetConn) WriteTo(b []byte, to net.Addr) (int, error) {
	udp, ok := to.(*net.UDPAddr)
	if !ok || unmap(udp.AddrPort()) != p.remote {
		return 0, &Refusal{Target: to.String(), kind: "not the address of this exchange", Never: true}
	}
	return p.PacketConn.WriteTo(b, to)
}

// SetReadBuffer asks the kernel for a buffer, within bounds.
func (p *packetConn) SetReadBuffer(n int) error { return p.udp.SetReadBuffer(min(n, packetBuffer)) }

// SetWriteBuffer asks the kernel for a buffer, within bounds.
func (p *packetConn) SetWriteBuffer(n int) error { return p.udp.SetWriteBuffer(min(n, packetBuffer)) }

func (p *packetConn) Close() error {
	p.release()
	p.close()
	return p.err
}

func (p *packetConn) close() { p.once.Do(func() { p.err = p.PacketConn.Close() }) }
