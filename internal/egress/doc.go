// SPDX-License-Identifier: Apache-2.0

// Package egress makes all connections to the outside: every address that a user
// can make the platform reach is dialed here, and nowhere else.
//
// A Guard judges addresses, not names: every address is judged at the moment a
// socket is about to be connected to it, after resolution, so that a name which
// answers differently the second time gains nothing. Protocols that open their
// own sockets ask Resolve first and hand over the address they were given.
package egress
