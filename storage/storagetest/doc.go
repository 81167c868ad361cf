// SPDX-License-Identifier: Apache-2.0

// Package storagetest gives every test its own real Postgres database.
//
// The server is that of VIGIL_TEST_DATABASE_URL (a role that may create roles and
// databases), or else a private cluster of the Postgres installed on this machine. All
// test processes of a user share that cluster: the first one starts it, the others find
// it by its directory, and it stops when no test has used a database for five minutes.
// Its data is disposable: it is in memory where there is room, written without fsync, and
// created again when the server does not respond. A test's database is a copy of a template
// that has the latest schema.
package storagetest
