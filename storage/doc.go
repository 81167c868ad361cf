// SPDX-License-Identifier: Apache-2.0

// Package storage keeps all durable state of the platform in Postgres: accounts,
// checks and their loops, results with rollups and gaps, incidents, deliveries, and
// the leases of workers. Callers use one type, Store; each resource has its own file.
//
// A method returns a *vigil.Error for a mistake of the caller. Any other error is
// wrapped, and contains neither SQL arguments nor secrets. A resource of another
// organization is a CodeNotFound error, as if it did not exist.
//
// Times are stored in UTC with microseconds, the precision of Postgres. Times that
// several processes compare (leases, changes, locks) come from the database's clock.
package storage
