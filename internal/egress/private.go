// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net"
	"net/netip"
	"strings"
)

// PrivateOpen reports whether private addresses may be reached: the policy allows them,
// and ClosePrivate was not called.
func (g *Guard) PrivateOpen() bool { return g.policy.AllowPrivate && !g.closed.Load() }

// ClosePrivate refuses private addresses from now on, as a policy without AllowPrivate
// does. It is for the moment at which others turn out to reach the API.
func (g *Guard) ClosePrivate() { g.closed.Store(true) }

// ForMail returns a guard that may also reach the ports at which servers take mail: 25,
// 465 and 587.
func (g *Guard) ForMail() *Guard {
	mail := *g
	mail.mail = true
	return &mail
}

// Discloses reports whether an address in an answer, or in a question, belongs to the
// inside: to a machine, to a private network or to a link that this guard refuses as a
// target. Showing it would disclose the operator's networks.
func (g *Guard) Discloses(addr netip.Addr) bool {
	if g.PrivateOpen() {
		return false
	}
	addr = addr.WithZone("").Unmap()
	for _, inner := range append(embedded(addr), addr) {
		if kind, _ := g.classify(inner); kind != "" && g.inside(inner) {
			return true
		}
	}
	return false
}

// IsPublic reports whether an address is one of the public internet. The policy does not
// matter.
func (g *Guard) IsPublic(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	for _, inner := range append(embedded(addr), addr) {
		if g.public.SafeAddr(inner) != nil || g.metadata[inner] {
			return false
		}
	}
	return true
}

// asNamed makes a refusal of an address one of the name that led there, as target has it:
// a host, or a host and a port. While private addresses are refused, the address of a name
// that the operator's name servers know would disclose the inside.
func (g *Guard) asNamed(err error, target string) error {
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok || g.PrivateOpen() {
		return err
	}
	host := target
	if bare, _, err := net.SplitHostPort(target); err == nil {
		host = bare
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil {
		refusal.Target = target
	}
	return err
}
