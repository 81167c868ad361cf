// SPDX-License-Identifier: Apache-2.0

// Package pg is the database below every room of storage: its connections, the limits that
// they have, transactions, pages of lists, migrations, and the helpers that all rooms share.
// It owns the table of the audit log, because the entry of a request is stored in the
// transaction of its change, and the tables of the migrations.
//
// A DB has three kinds of connections. Pool is for the API and the background work: bun
// writes values into its SQL, so that each query is one round trip. Probing is reserved for
// results, so that a busy API does not delay them. One more renews leases, since it must not
// wait for a place in a pool when Postgres stops answering. Every query has a deadline
// (limit.go), every connection limits that Postgres itself holds (connect.go), and behind a
// transaction-pooling proxy the transactions set them (transact.go).
//
// A statement that runs each second, or for every result, check and incident, is one for Rows, Row
// and Exec (statement.go), which Postgres parses once for each connection. All others are Bun's. A
// statement with more than MaxNumbered arguments has them by their names (Named).
//
// A Standby is a copy of a database, with the choice which of both is read (standby.go): it compares how far their logs are
// (log_position.go).
//
// An error that leaves a room passes Wrap or Found: a *vigil.Error stays, what a retry may
// fix becomes CodeUnavailable, and no row becomes CodeNotFound.
package pg
