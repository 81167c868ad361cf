// SPDX-License-Identifier: Apache-2.0

package egress

import "net/netip"

// embedded returns the IPv4 addresses that an IPv6 address stands for or is
// routed through: a gateway between the two worlds would deliver there.
func embedded(addr netip.Addr) []netip.Addr {
	if !addr.Is6() || addr.IsLoopback() || addr.IsUnspecified() {
		return nil
	}
	b := addr.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case within(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0): // ::/96, IPv4-compatible (RFC 4291)
		return []netip.Addr{at(12)}
	case within(b, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0): // ::ffff:0:0:0/96, translated (RFC 2765)
		return []netip.Addr{at(12)}
	case within(b, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0): // 64:ff9b::/96, NAT64 (RFC 6052)
		return []netip.Addr{at(12)}
	case within(b, 0, 0x64, 0xff, 0x9b, 0, 1): // 64:ff9b:1::/48, local NAT64 (RFC 8215)
		return local64(b)
	case within(b, 0x20, 0x02): // 2002::/16, 6to4 (RFC 3056)
		return []netip.Addr{at(2)}
	case within(b, 0x20, 0x01, 0, 0): // 2001::/32, Teredo (RFC 4380): server, and client inverted
		return []netip.Addr{at(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe && b[8]&^2 == 0: // ISATAP (RFC 5214)
		return []netip.Addr{at(12)}
	}
	return nil
}

// within reports whether the bytes begin with the given ones.
func within(b [16]byte, start ...byte) bool {
	return [16]byte(append(start, b[len(start):]...)) == b
}

// local64 reads an address of the local NAT64 prefix in each of the layouts of
// RFC 6052 that fit it; which one a gateway uses cannot be seen. A layout that
// gives no host's address is not the one in use.
func local64(b [16]byte) []netip.Addr {
	var found []netip.Addr
	for _, layout := range [][4]byte{
		{b[12], b[13], b[14], b[15]}, // /96
		{b[9], b[10], b[11], b[12]},  // /64
		{b[7], b[9], b[10], b[11]},   // /56
		{b[6], b[7], b[9], b[10]},    // /48
	} {
		if layout[0] != 0 {
			found = append(found, netip.AddrFrom4(layout))
		}
	}
	return found
}
