// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// What callers need of the rooms below, so that they import one package.
type (
	// Pooler says what is between the store and Postgres.
	Pooler = pg.Pooler
	// Server describes the database and the server that it is on.
	Server = pg.Server
	// Role is what the user of the connections may do.
	Role = pg.Role
	// ResultWriter stores the results of many goroutines in shared transactions.
	ResultWriter = results.ResultWriter
	// ResultsDatabase is a database that keeps results alone.
	ResultsDatabase = results.Database
	// WriterOptions of a ResultWriter.
	WriterOptions = results.WriterOptions
)

// The values of a Pooler.
const (
	PoolerAuto        = pg.PoolerAuto
	PoolerNone        = pg.PoolerNone
	PoolerTransaction = pg.PoolerTransaction
)

// DeletedUser is the name that the entries of the audit log show in place of that of a user
// whose account was deleted.
const DeletedUser = accounts.DeletedUser

// NewResultWriter returns a writer whose Run must be called.
func NewResultWriter(s *Store, opts WriterOptions) *ResultWriter {
	return results.NewResultWriter(s.resultStore, opts)
}

// BeforeBaseline reports whether a schema, the name of the newest migration of a database, is
// from before the baseline.
func BeforeBaseline(schema string) bool { return pg.BeforeBaseline(schema) }

// NewestSchema returns the name of the newest migration that this version has.
func NewestSchema() (string, error) { return pg.NewestSchema() }

// Migrate applies all pending migrations and returns how many it applied. Several
// processes may call it at once: one migrates and the others wait.
//
// It applies those of the databases that keep results alone, too, and leaves out one that is away.
func (s *Store) Migrate(ctx context.Context) (applied int, err error) {
	if applied, err = s.db.Migrate(ctx); err != nil {
		return applied, err
	}
	return applied, s.MigrateHomes(ctx)
}

// MigrateDown reverts the migrations of the last Migrate that applied any.
func (s *Store) MigrateDown(ctx context.Context) error { return s.db.MigrateDown(ctx) }

// MigrateTo reverts the applied migrations after the named one, such as 1002, newest
// first, and returns the names of those that it reverted. What these migrations created is
// dropped with its data. An unknown name is an error.
func (s *Store) MigrateTo(ctx context.Context, name string) (reverted []string, err error) {
	return s.db.MigrateTo(ctx, name)
}

// Ready returns nil when Postgres answers and all migrations are applied, otherwise a
// CodeUnavailable error that says which of the two is missing. A database from before the
// baseline is a CodeConflict error.
func (s *Store) Ready(ctx context.Context) error { return s.db.Ready(ctx) }

// Server reads what a backup says of the database and of its server.
func (s *Store) Server(ctx context.Context) (Server, error) { return s.db.Server(ctx) }

// Role reads what the user of the connections may do.
func (s *Store) Role(ctx context.Context) (Role, error) { return s.db.Role(ctx) }

// Pooled reports whether a transaction-pooling proxy is in front of Postgres.
func (s *Store) Pooled() bool { return s.db.Pooled() }

// Clock returns the current time of the database's clock, which stamps changes and
// leases.
func (s *Store) Clock(ctx context.Context) (time.Time, error) { return s.db.Clock(ctx) }

// Missing says which results could not be read because their database is away.
type Missing = results.Missing

// WithMissing returns a context whose reads note what they miss.
func WithMissing(ctx context.Context) (context.Context, *Missing) { return results.WithMissing(ctx) }
