// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxAgent bounds what is kept of a User-Agent.
const maxAgent = 200

// userAgent returns the User-Agent, fit to be stored.
func userAgent(r *http.Request) string {
	agent := strings.ToValidUTF8(strings.ReplaceAll(r.UserAgent(), "\x00", ""), "")
	for len(agent) > maxAgent {
		_, size := utf8.DecodeLastRuneInString(agent)
		agent = agent[:len(agent)-size]
	}
	return agent
}

// clientAddress is the address that a request came from: that of the connection,
// or, behind trusted proxies, the last one that they did not add themselves.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.IPv4Unspecified()
	}
	address := peer.Addr().Unmap().WithZone("")
	if len(trusted) == 0 {
		return address
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(address, trusted); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = hop.Unmap().WithZone("")
	}
	return address
}

// unknownProxy reports whether a request came through a proxy that is not trusted, so that
// its address is not that of the client.
func unknownProxy(r *http.Request, trusted []netip.Prefix) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "Via" {
			peer, err := netip.ParseAddrPort(r.RemoteAddr)
			return err != nil || !isTrusted(peer.Addr().Unmap().WithZone(""), trusted)
		}
	}
	return false
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(address) })
}

// Network returns the range that one client is likely to control: an IPv4 address, or the
// /64 around an IPv6 one.
func Network(address netip.Addr) string {
	if address.Is6() {
		if prefix, err := address.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
