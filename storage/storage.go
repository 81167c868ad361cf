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
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"vigil"
)

// Options of a Store.
type Options struct {
	// Keys seal the secrets of configs. A store without keys cannot read or
	// write checks and channels.
	Keys *vigil.Keyring
	// Secrets lists the members of configs that are sealed. For a type that it lacks,
	// those whose names look like credentials are sealed.
	Secrets vigil.ConfigSecrets
	// Policies are the delivery policies of the channel types. A store without them
	// cannot open incidents or deliver messages.
	Policies vigil.DeliveryPolicies
	// MaxConns limits the connections to Postgres, up to 1,000; 0 means 16. A leader
	// and a migration hold one each. Results use two more, leases one.
	MaxConns int
	// Now is the clock of schedules; nil means time.Now.
	Now func() time.Time
	// Log receives background errors; nil discards them.
	Log *slog.Logger
}

// minServerVersion is the oldest Postgres that the schema supports, as
// server_version_num.
const minServerVersion = 150_000

const defaultMaxConns = 16

// probingConns are the connections reserved for results, so that a busy API does not
// delay them.
const probingConns = 2

// Store is the platform's database. It is safe for concurrent use.
type Store struct {
	pool *pgxpool.Pool
	db   *bun.DB
	// probing has the reserved connections; it opens them on first use.
	probing  *pgxpool.Pool
	leases   *leaseConn
	keys     *vigil.Keyring
	secrets  vigil.ConfigSecrets
	policies vigil.DeliveryPolicies
	now      func() time.Time
	log      *slog.Logger
}

// Open connects to Postgres and checks that it answers and is version 15 or newer. dsn is
// a URL or a keyword string, as libpq takes it. Open does not create the schema; see
// Migrate.
func Open(ctx context.Context, dsn string, opts Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the database address: %w", err) // pgx masks the password in it
	}
	config.MaxConns = int32(min(max(opts.MaxConns, 0), 1000))
	if config.MaxConns == 0 {
		config.MaxConns = defaultMaxConns
	}
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.ConnConfig.RuntimeParams["application_name"] = "vigil"
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID,
			Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	own := config.Copy()
	own.MaxConns, own.MinConns, own.MinIdleConns = probingConns, 0, 0
	probing, err := pgxpool.NewWithConfig(ctx, own)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s := &Store{
		pool: pool, probing: probing, leases: &leaseConn{config: config.ConnConfig.Copy()},
		db:   bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New(), bun.WithDiscardUnknownColumns()),
		keys: opts.Keys, secrets: opts.Secrets, policies: opts.Policies, now: opts.Now, log: opts.Log,
	}
	if s.now == nil {
		s.now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.checkVersion(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkVersion returns an error when the server does not answer or is too old.
func (s *Store) checkVersion(ctx context.Context) error {
	var version int
	err := s.pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version)
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	if version < minServerVersion {
		return fmt.Errorf("the database is Postgres %d; version 15 or newer is needed", version/10_000)
	}
	return nil
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
	err := s.db.NewRaw("SELECT clock_timestamp()").Scan(ctx, &now)
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
	return s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return s.recordAudit(ctx, tx)
	})
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
