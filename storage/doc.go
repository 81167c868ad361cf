// SPDX-License-Identifier: Apache-2.0

// Package storage keeps all durable state of the platform in Postgres: accounts,
// checks and their loops, results with rollups and gaps, incidents, deliveries, and
// the leases of workers. Callers use one type, Store, whose methods are those of the rooms
// below; here is what needs several of them: the overview, status pages as visitors see them,
// backtests, retention, restores, and the end of an organization.
//
//	changes       writes definitions by one engine
//	incidents     votes, incidents, events, deliveries
//	definitions   checks, rules and channels as they are stored
//	results       results and what is summed from them
//	loops         loops, leases, pauses
//	accounts      organizations, users, credentials, mail recipients
//	pg            connections, transactions, migrations, helpers
//
// A room imports only rooms below it. The locks of a transaction are taken in one order:
// organization, user, checks, loops, incidents, deliveries, the head of the stream.
//
// A method returns a *vigil.Error for a mistake of the caller. Any other error is
// wrapped, and contains neither SQL arguments nor secrets. A resource of another
// organization is a CodeNotFound error, as if it did not exist.
//
// Times are stored in UTC with microseconds, the precision of Postgres. Times that
// several processes compare (leases, changes, locks) come from the database's clock.
package storage
