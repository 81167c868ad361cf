// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// Options of a Store.
type Options struct {
	// Keys seal the secrets of configs. A store without keys cannot read or
	// write checks and channels.
	Keys *secret.Keyring
	// Secrets lists the members of configs that are sealed. For a type that it lacks,
	// those whose names look like credentials are sealed.
	Secrets secret.Configs
	// Policies are the delivery policies of the channel types. A store without them
	// cannot open incidents or deliver messages.
	Policies vigil.DeliveryPolicies
	// Pooler says whether a transaction-pooling proxy is in front of Postgres; the empty
	// one means PoolerAuto.
	Pooler Pooler
	// MaxConns limits the connections to Postgres, up to 1,000; 0 means 16. Results use up
	// to four more, leases one, and a migration two.
	MaxConns int
	// Now is the clock of schedules; nil means time.Now.
	Now func() time.Time
	// Maintenance is the clock by which maintenance begins and ends, for tests; nil means
	// the clock of the database.
	Maintenance func() time.Time
	// Progress is called with what Migrate or Reseal is at, such as "migration 1002"; nil
	// discards it.
	Progress func(what string)
	// Log receives background errors; nil discards them.
	Log *slog.Logger
}

// Store is the platform's database. It is safe for concurrent use.
type Store struct {
	connector *connector

	pool *pgxpool.Pool
	db   *bun.DB
	// probing has the reserved connections; it opens them on first use.
	probing  *pgxpool.Pool
	leases   *leaseConn
	keys     *secret.Keyring
	secrets  secret.Configs
	policies vigil.DeliveryPolicies
	now      func() time.Time
	edges    func() time.Time // nil: the clock of the database
	progress func(what string)
	log      *slog.Logger
	places   orgGates // of changes to delivery_places
}

// Open connects to Postgres and checks that it answers and is version 15 or newer. A database
// from before the baseline is a CodeConflict error. dsn is a URL or a keyword string, as libpq
// takes it. Open does not create the schema; see Migrate.
func Open(ctx context.Context, dsn string, opts Options) (*Store, error) {
	s := &Store{
		keys: opts.Keys, secrets: opts.Secrets, policies: opts.Policies, now: opts.Now, edges: opts.Maintenance, progress: opts.Progress,
		log: opts.Log,
	}
	if s.now == nil {
		s.now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.progress == nil {
		s.progress = func(string) {}
	}
	if err := s.open(ctx, dsn, opts.Pooler, opts.MaxConns); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes all connections. The store cannot be used afterwards.
func (s *Store) Close() error {
	return s.close()
}

// DB returns the database handle, for tests and tools.
func (s *Store) DB() *bun.DB { return s.db }
