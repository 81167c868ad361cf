// SPDX-License-Identifier: Apache-2.0

// Package probetest has what tests of several rooms share: real servers for probes to check, and
// the addresses that no probe may reach.
//
// Everything listens on loopback, on ports of its own, and ends with the test. server.go has name
// servers and HTTP/3, mail.go a post office that speaks SMTP and IMAP in each of their security
// modes, listener.go a raw socket for what a protocol library would not send, families.go a port
// that answers over IPv4 and stays silent over IPv6. An Authority (certificate.go) signs what they
// present, right or wrong in one respect: a test says with a Change which.
//
// Forbidden lists the ways to write an address that no probe may reach: this machine, private
// networks, IPv4 inside IPv6, metadata services. ForbidICMP makes this machine one that allows ICMP
// to no user, for the rest of the test.
package probetest
