// Package standalone is the ground that `vigil up` stands on: a data directory
// that one process owns, a private Postgres run from the binaries found on the
// machine, and the Temporal server with its web interface embedded in the
// process and persisted in that Postgres.
//
// Nothing here knows what Vigil does with these parts. Whatever goes wrong while
// they start comes back as one sentence for the person at the terminal: what is
// the matter, and what to do about it.
//
// A binary built with the tag slim holds no Temporal server; StartTemporal then
// only says so.
package standalone
