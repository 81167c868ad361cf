// SPDX-License-Identifier: Apache-2.0

// Package cluster runs the platform as many machines would: upstream's Temporal server as several hosts,
// two Postgres with a standby each, and several processes of each role of Vigil, with mutual TLS between
// all of them. Each host is a set of processes with an address of its own, on loopback or, as root, in a
// network namespace of its own, so that it can be killed, frozen and cut off. It needs Linux.
package cluster
