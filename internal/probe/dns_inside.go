// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// A DNS check asks the operator's own name servers, which may know names and addresses of
// the inside. What is about private addresses is neither asked nor shown where private
// addresses are refused as targets.

// disclosesInside reports whether an answer holds an address of the inside.
func (p dnsProbe) disclosesInside(reply *dns.Msg) bool {
	for _, record := range reply.Answer {
		var addr netip.Addr
		switch record := record.(type) {
		case *dns.A:
			addr, _ = netip.AddrFromSlice(record.A)
		case *dns.AAAA:
			addr, _ = netip.AddrFromSlice(record.AAAA)
		}
		if addr.IsValid() && p.guard.Discloses(addr) {
			return true
		}
	}
	return false
}

// asksInside reports whether the name to look up is the reverse name of a private
// address, or of a network of private addresses alone.
func (p dnsProbe) asksInside() bool {
	network, ok := reverseNetwork(p.name)
	return ok && p.guard.Discloses(network.Addr()) && p.guard.Discloses(lastOf(network))
}

// reverseNetwork returns the network that a name below in-addr.arpa or ip6.arpa is about
// (RFC 1035 section 3.5, RFC 3596 section 2.5): a whole address, or as much of one as the
// labels give. Labels before those, as of service discovery, do not matter.
func reverseNetwork(name string) (netip.Prefix, bool) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if labels, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		return collect(labels, 10, 8, make([]byte, 4))
	}
	if labels, ok := strings.CutSuffix(name, ".ip6.arpa"); ok {
		return collect(labels, 16, 4, make([]byte, 16))
	}
	return netip.Prefix{}, false
}

// collect reads labels from the last to the first, each some bits of an address.
func collect(labels string, base, bits int, address []byte) (netip.Prefix, bool) {
	known := 0
	for labels != "" && known < 8*len(address) {
		label := labels[strings.LastIndexByte(labels, '.')+1:]
		n, err := strconv.ParseUint(label, base, 8)
		if err != nil || n >= 1<<bits {
			break
		}
		address[known/8] |= byte(n) << (8 - bits - known%8)
		known += bits
		labels = strings.TrimSuffix(strings.TrimSuffix(labels, label), ".")
	}
	addr, ok := netip.AddrFromSlice(address)
	return netip.PrefixFrom(addr, known), ok && known > 0
}

// lastOf is the last address of a network.
func lastOf(network netip.Prefix) netip.Addr {
	address := network.Addr().AsSlice()
	for bit := network.Bits(); bit < 8*len(address); bit++ {
		address[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(address)
	return last
}
