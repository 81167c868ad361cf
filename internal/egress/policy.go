// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"

	"code.dny.dev/ssrf"
)

// Policy says which addresses may be reached. Its zero value permits public
// addresses only.
type Policy struct {
	// AllowPrivate permits loopback, private (RFC 1918, RFC 4193) and shared
	// (RFC 6598) addresses, the machine's own addresses and the ports of mail: right
	// when only the machine's own users can reach the API. Guard.ClosePrivate ends it.
	AllowPrivate bool
	// AllowedCIDRs are permitted although they are not public. They never
	// permit metadata services, multicast or the unspecified address.
	AllowedCIDRs []netip.Prefix
	// Refused are the platform's own ports. One whose address belongs to this
	// machine is refused on every address of this machine.
	Refused []netip.AddrPort
}

// metadata are the addresses from which clouds hand out credentials and
// configuration to any process of the machine. Most are link-local; the
// others look public or private, which is why each is listed.
func metadata() []netip.Addr {
	texts := []string{
		"169.254.169.254",    // AWS, Azure, Google, Oracle, DigitalOcean, Hetzner, IBM, OpenStack
		"169.254.169.253",    // AWS resolver
		"169.254.169.123",    // AWS time
		"169.254.170.2",      // AWS ECS task credentials
		"169.254.170.23",     // AWS EKS pod identity
		"fd00:ec2::254",      // AWS
		"fd00:ec2::253",      // AWS resolver
		"fd00:ec2::123",      // AWS time
		"fd00:ec2::23",       // AWS EKS pod identity
		"fd20:ce::254",       // Google
		"168.63.129.16",      // Azure's host agent: a public address
		"100.100.100.200",    // Alibaba
		"169.254.0.23",       // Tencent
		"169.254.10.10",      // Tencent
		"169.254.42.42",      // Scaleway
		"fd00:42::42",        // Scaleway
		"192.0.0.192",        // Oracle Classic
		"fd00:c1::a9fe:a9fe", // Oracle
		"fe80::a9fe:a9fe",    // OpenStack
	}
	addrs := make([]netip.Addr, len(texts))
	for i, text := range texts {
		addrs[i] = netip.MustParseAddr(text)
	}
	return addrs
}

// judge returns nil for an address that the policy permits. port 0 stands for
// protocols without ports.
func (g *Guard) judge(given netip.Addr, port uint16) error {
	target := given.String()
	if port != 0 {
		target = netip.AddrPortFrom(given, port).String()
	}
	// A zone or an IPv4-mapped form would match no prefix.
	addr := given.WithZone("").Unmap()
	var found *Refusal
	for _, inner := range append(embedded(addr), addr) {
		kind, never := g.classify(inner)
		if kind == "" && g.own(inner, port) {
			kind, never = "a port of the platform itself", true
		}
		if kind == "" && g.refusesMail(port) {
			return &Refusal{Target: target, kind: "a port for mail", only: "smtp-imap checks"}
		}
		if kind != "" && (found == nil || never && !found.Never) {
			found = &Refusal{Target: target, kind: kind, Never: never}
		}
	}
	if found == nil {
		return nil
	}
	return found
}

// classify names what forbids an address; the empty string permits it.
func (g *Guard) classify(addr netip.Addr) (kind string, never bool) {
	switch {
	case g.metadata[addr]:
		return "a cloud metadata address", true
	case addr.IsUnspecified() || addr.Is4() && addr.As4()[0] == 0:
		return "not an address of a host", true
	case addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "a multicast or broadcast address", true
	}
	for _, prefix := range g.policy.AllowedCIDRs {
		if prefix.Contains(addr) {
			return "", false
		}
	}
	open := g.PrivateOpen()
	if open && g.inside(addr) && !addr.IsLinkLocalUnicast() {
		return "", false
	}
	own := !open && g.machine.has(addr)
	// What NAT64 leads to has been judged by itself.
	if !own && (ssrf.IPv6NAT64Prefix.Contains(addr) || g.public.SafeAddr(addr) == nil) {
		return "", false
	}
	switch {
	case addr.IsLoopback():
		return "a loopback address", false
	case addr.IsLinkLocalUnicast():
		return "a link-local address", false
	case addr.IsPrivate() || g.shared.Contains(addr):
		return "a private address", false
	case own:
		return "an address of the platform's machine", false
	}
	return "a reserved address", false
}

// inside reports whether an address belongs to a machine or to a private network.
func (g *Guard) inside(addr netip.Addr) bool {
	return addr.IsLoopback() || addr.IsPrivate() || g.shared.Contains(addr) || addr.IsLinkLocalUnicast()
}

// refusesMail reports whether a port takes mail that this guard may not send.
func (g *Guard) refusesMail(port uint16) bool {
	return (port == 25 || port == 465 || port == 587) && !g.mail && !g.PrivateOpen()
}

// own reports whether an address and port belong to the platform itself.
func (g *Guard) own(addr netip.Addr, port uint16) bool {
	for _, refused := range g.policy.Refused {
		if refused.Port() != port || port == 0 {
			continue
		}
		if refused.Addr().Unmap() == addr || g.machine.local(refused.Addr()) && g.machine.local(addr) {
			return true
		}
	}
	return false
}
