// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/agents"
	"github.com/vigil-monitor/vigil/storage/beats"
	"github.com/vigil-monitor/vigil/storage/changes"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
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
	// Results are the databases that keep results; without any they are kept with the definitions.
	Results []ResultsDatabase

	isCopy bool // see OpenStandby
}

// Store is the platform's database. It is safe for concurrent use. Its methods are those of
// its rooms.
type Store struct {
	db *pg.DB
	*accountStore
	*loopStore
	*resultStore
	*definitionStore
	*incidentStore
	*changeStore
	*beatStore
	*agentStore
}

// The rooms, under names of which a struct can have one each.
type (
	accountStore    = accounts.Store
	loopStore       = loops.Store
	resultStore     = results.Store
	definitionStore = definitions.Store
	incidentStore   = incidents.Store
	changeStore     = changes.Store
	beatStore       = beats.Store
	agentStore      = agents.Store
)

// Open connects to Postgres and checks that it answers and is version 15 or newer. A database
// from before the baseline is a CodeConflict error. dsn is a URL or a keyword string, as libpq
// takes it. Open does not create the schema; see Migrate.
func Open(ctx context.Context, dsn string, opts Options) (*Store, error) {
	of := pg.Options{Pooler: opts.Pooler, MaxConns: opts.MaxConns, Now: opts.Now, Progress: opts.Progress, Log: opts.Log}
	main := of
	main.Copy, main.MayBeAway = opts.isCopy, opts.isCopy
	db, err := pg.Open(ctx, dsn, main)
	if err != nil {
		return nil, err
	}
	homes, err := results.OpenHomes(ctx, db, opts.Results, of)
	if err != nil {
		return nil, errors.Join(err, db.Close()) //nolint:contextcheck // a goodbye has a bound of its own
	}
	s := &Store{
		db: db, accountStore: accounts.New(db), beatStore: beats.New(db), agentStore: agents.New(db), loopStore: loops.New(db, opts.Maintenance),
	}
	s.resultStore = results.New(db, s.loopStore, homes)
	s.definitionStore = definitions.New(db, opts.Keys, opts.Secrets)
	s.incidentStore = incidents.New(db, s.accountStore, s.loopStore, s.resultStore, s.definitionStore, opts.Policies)
	s.changeStore = changes.New(db, s.accountStore, s.loopStore, s.resultStore, s.definitionStore, s.incidentStore)
	return s, nil
}

// Close closes all connections. The store cannot be used afterwards.
func (s *Store) Close() error { return errors.Join(s.CloseHomes(), s.db.Close()) }

// DB returns the database handle, for tests and tools.
func (s *Store) DB() *bun.DB { return s.db.DB }

// ResultDBs returns the handles of all databases that keep results, that of DB first, for tests and tools.
func (s *Store) ResultDBs() []*bun.DB { return s.HomeDBs() }
