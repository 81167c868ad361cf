// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

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

const defaultMaxConns = 16

// probingConns are the connections reserved for results, so that a busy API does not
// delay them: one for each writer.
const probingConns = resultWriters

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
	conns := min(max(opts.MaxConns, 0), 1000)
	if conns == 0 {
		conns = defaultMaxConns
	}
	var err error
	if s.connector, err = newConnector(dsn, s.log); err != nil {
		return nil, err
	}
	if err = s.connector.inspect(ctx, opts.Pooler); err != nil {
		return nil, err
	}
	// Bun writes values into its SQL, so that a prepared statement would serve one query:
	// each is one round trip without a name.
	if s.pool, err = s.connector.pool(ctx, conns, ordinaryLimits, pgx.QueryExecModeExec); err != nil {
		return nil, err
	}
	if s.probing, err = s.connector.pool(ctx, probingConns, probingLimits, pgx.QueryExecModeCacheStatement); err != nil {
		s.pool.Close()
		return nil, err
	}
	s.leases = &leaseConn{connect: s.connector.connect}
	s.db = bun.NewDB(stdlib.OpenDBFromPool(s.pool), pgdialect.New(), bun.WithDiscardUnknownColumns())
	return s, nil
}

// Close closes all connections. The store cannot be used afterwards.
func (s *Store) Close() error {
	err := s.db.Close()
	s.pool.Close()
	s.probing.Close()
	s.leases.close()
	if err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// DB returns the database handle, for tests and tools.
func (s *Store) DB() *bun.DB { return s.db }

// Clock returns the current time of the database's clock, which stamps changes and
// leases.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.steadyRow(ctx, "SELECT clock_timestamp()", nil, &now)
	return now, wrap("read the database's clock", err)
}

// instant is the current time of the store's clock, in the precision of Postgres.
func (s *Store) instant() time.Time { return micro(s.now()) }

// micro rounds a time down to the microsecond, the precision of timestamptz.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// milliseconds converts a duration for a column in milliseconds; fromMilliseconds
// converts back.
func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

func fromMilliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// inTx runs fn in a transaction of the default isolation, read committed, and stores the
// audit entry of ctx in the same transaction.
func (s *Store) inTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return s.recordAudit(ctx, tx)
	})
}

// transact runs fn in a transaction. Every transaction of bun begins here, so that each has
// the limits that a proxy would lose.
func (s *Store) transact(ctx context.Context, opts *sql.TxOptions, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.db.RunInTx(ctx, opts, func(ctx context.Context, tx bun.Tx) error {
		if limits := s.localLimits(); limits != "" {
			if _, err := tx.ExecContext(ctx, limits); err != nil {
				return fmt.Errorf("set the limits of the transaction: %w", err)
			}
		}
		return fn(ctx, tx)
	})
}

// lockName takes the advisory lock of a name until the end of the transaction.
func lockName(ctx context.Context, tx bun.Tx, name string) error {
	_, err := tx.NewRaw("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", name).Exec(ctx)
	return err
}

// snapshot begins a transaction that reads one snapshot and writes nothing. Its end must be
// called; there is nothing to commit.
func (s *Store) snapshot(ctx context.Context) (tx pgx.Tx, end func(), err error) {
	tx, err = s.pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" + s.localLimits()})
	if err != nil {
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	return tx, func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }, nil
}

// localLimits is the SQL that follows the BEGIN of an ordinary transaction, empty where the
// session has the limits.
func (s *Store) localLimits() string {
	if !s.connector.pooled {
		return ""
	}
	return "; " + ordinaryLimits.setLocal()
}

// wrap adds what failed to an error. A *vigil.Error passes unchanged; an error that a
// retry may fix becomes a CodeUnavailable error.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*vigil.Error](err); ok {
		return err
	}
	err = fmt.Errorf("%s: %w", what, err)
	if retryable(err) {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database does not answer. Try again in a moment.", Cause: err}
	}
	return err
}

// found is wrap for the lookup of one resource: no row is a CodeNotFound error.
func found(kind string, err error) error {
	if isNoRow(err) {
		return vigil.NotFound(kind)
	}
	return wrap("read "+kind, err)
}

// requireAffected is wrap for an update or delete of one resource: no affected row is a
// CodeNotFound error.
func requireAffected(kind, what string, res sql.Result, err error) error {
	if err != nil {
		return wrap(what, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return vigil.NotFound(kind)
	}
	return wrap(what, err)
}

// violates reports whether err is a violation of the constraint or unique index of that
// name.
func violates(err error, constraint string) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.ConstraintName == constraint
}
