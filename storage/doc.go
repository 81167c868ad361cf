// SPDX-License-Identifier: Apache-2.0

// Package storage keeps all durable state of the platform in Postgres: accounts,
// checks and their loops, results with rollups and gaps, incidents, deliveries, and
// the leases of workers. Callers use one type, Store; each resource has its own file.
//
// Every change of a definition (a check, a rule, a channel, a status page, a maintenance
// window) is a call of one engine, edits: a method that creates, changes or deletes one
// passes one edit, a bulk change and an apply pass many. The engine judges the limits of the
// plan by the sum of the edits, writes them, adds an audit entry for each and says which
// loops and incidents to wake, so that no way of changing a definition passes a limit that
// another one keeps.
//
// A method returns a *vigil.Error for a mistake of the caller. Any other error is
// wrapped, and contains neither SQL arguments nor secrets. A resource of another
// organization is a CodeNotFound error, as if it did not exist.
//
// Times are stored in UTC with microseconds, the precision of Postgres. Times that
// several processes compare (leases, changes, locks) come from the database's clock.
package storage
