// Package storage keeps the platform's truth in Postgres: accounts, checks and
// the loops they ask for, results with their rollups and gaps, and the leases of
// workers. It is reached through one Store, with one file per noun.
//
// Every method that may meet a caller's mistake returns a *vigil.Error for it;
// anything else is wrapped and carries neither SQL arguments nor secrets.
// Another organization's resource is answered like none at all.
//
// Times are stored in UTC with the microseconds of Postgres. Instants that
// decide who sees what (leases, changes, locks) come from the database's clock,
// because several processes share it.
package storage
