// SPDX-License-Identifier: Apache-2.0

// Package hosts tests that the platform goes on when a host of a cluster is lost: a Temporal cluster of several
// hosts, and two Postgres with standbys. Its one test is the short form of `make cluster-drills`. It is a package
// of its own, since it runs beside the other tests as what it needs has to be built first.
package hosts
