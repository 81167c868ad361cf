// SPDX-License-Identifier: Apache-2.0

// Package standalone runs the servers of `vigil up`: a data directory that one process
// owns, a private Postgres from the programs installed on the machine, and the
// embedded Temporal server with its web interface, which keeps its data in that
// Postgres.
//
// It knows nothing of Vigil's own data. An error while a part starts is one sentence
// for the operator: the problem and its remedy.
//
// A binary built with the tag slim has no Temporal server; StartTemporal then returns
// an error.
package standalone
