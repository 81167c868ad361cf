// SPDX-License-Identifier: Apache-2.0

// Package egress makes all connections to the outside: every address that a user can make the
// platform reach is dialed here, and nowhere else.
//
// A Guard judges addresses, not names: every address is judged at the moment a socket is about to
// be connected to it, after resolution, so that a name which answers differently the second time
// gains nothing. Protocols that open their own sockets ask Resolve first and hand over the address
// they were given.
//
// A Policy (policy.go) says which networks are forbidden, and private.go which private ones an
// operator has allowed. guard.go dials by it, address.go and embedded.go find addresses that are
// written or wrapped in others, and machine.go those of this machine. resolver.go and nameserver.go
// ask name servers, under the same guard; client.go and http2.go make HTTP clients on top, with
// redirects that are judged again, and proxy.go sends them through a proxy. A connection that is
// refused is a Refusal (refusal.go), which says why without the address that a name had.
package egress
