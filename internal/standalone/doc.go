// SPDX-License-Identifier: Apache-2.0

// Package standalone runs the servers of `vigil up`: a data directory that one process owns, a
// private Postgres from the programs installed on the machine, and the embedded Temporal server
// with its web interface, which keeps its data in that Postgres.
//
// It knows nothing of Vigil's own data. An error while a part starts is one sentence for the
// operator: the problem and its remedy.
//
// A binary built with the tag slim has no Temporal server; StartTemporal then returns an error.
//
// datadir.go claims the directory, so that two processes never use one. cluster.go makes the
// cluster of Postgres, postgres.go and supervise.go start it and start it again when it ends, and
// disk_full.go says so when there is no room. temporal*.go configure the server for one machine,
// bring its schema up to date and wait until the namespace answers. credentials.go has the
// certificates by which that server and its clients know each other, in files that only their owner
// reads.
package standalone
