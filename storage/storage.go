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
	// Keys seal the secrets of configs. Needed by everything that reads or
	// writes checks.
	Keys *vigil.Keyring
	// Secrets are the members of configs that are sealed. A type that it lacks
	// has those whose names say that they are credentials.
	Secrets vigil.ConfigSecrets
	// Policies are those of the channel types. Needed by everything that opens
	// incidents or delivers messages.
	Policies vigil.DeliveryPolicies
	// MaxConns bounds the connections to Postgres; 0 means 16. A leader and
	// a migration hold one each. Beside them, results and leases have two of
	// their own.
	MaxConns int
	// Now is the clock of schedules; nil means the machine's.
	Now func() time.Time
	// Log hears what no caller does; nil means nobody.
	Log *slog.Logger
}

// oldestServer is the first Postgres that the schema works on.
const oldestServer = 150_000

const defaultMaxConns = 16

// probingConns are kept for results and leases: callers that ask for much must
// not make slots late, or a worker look silent.
const probingConns = 2

// Store is the platform's database. It may be used by any number of goroutines.
type Store struct {
	pool *pgxpool.Pool
	db   *bun.DB
	// probing connects when it is first used.
	probing  *pgxpool.Pool
	keys     *vigil.Keyring
	secrets  vigil.ConfigSecrets
	policies vigil.DeliveryPolicies
	now      func() time.Time
	log      *slog.Logger
}

// Open connects to the Postgres of a URL or keyword string and makes sure that
// it answers and is new enough. It changes nothing there; see Migrate.
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
		pool: pool, probing: probing,
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

// checkVersion asks the server for its version.
func (s *Store) checkVersion(ctx context.Context) error {
	var version int
	err := s.pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version)
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	if version < oldestServer {
		return fmt.Errorf("the database is Postgres %d; version 15 or newer is needed", version/10_000)
	}
	return nil
}

// Close ends all connections. Nothing may use the store after it.
func (s *Store) Close() error {
	err := s.db.Close()
	s.pool.Close()
	s.probing.Close()
	if err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// DB gives direct access, for tests and tools.
func (s *Store) DB() *bun.DB { return s.db }

// Clock is the database's time, by which changes and leases are stamped.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.db.NewRaw("SELECT clock_timestamp()").Scan(ctx, &now)
	return now, wrap("read the database's clock", err)
}

// instant is the store's clock as Postgres can keep it.
func (s *Store) instant() time.Time { return micro(s.now()) }

// micro rounds down to what a timestamptz holds.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// milliseconds of a duration for a column that counts them.
func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

func fromMilliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// inTx runs fn in a transaction of Postgres's default isolation. What a caller
// asked to be noted in the audit log is noted in the same one.
func (s *Store) inTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return s.recordAudit(ctx, tx)
	})
}

// wrap says what failed. Errors for callers pass as they are; a database that is
// out of reach or too busy becomes one, since trying again helps.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*vigil.Error](err); ok {
		return err
	}
	err = fmt.Errorf("%s: %w", what, err)
	if away(err) {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database does not answer. Try again in a moment.", Cause: err}
	}
	return err
}

// found is wrap for the lookup of one resource: no row is not found.
func found(kind string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return vigil.NotFound(kind)
	}
	return wrap("read "+kind, err)
}

// touched makes an update or delete that met no row a not-found error.
func touched(kind, what string, res sql.Result, err error) error {
	if err != nil {
		return wrap(what, err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		return vigil.NotFound(kind)
	}
	return wrap(what, err)
}

// violates says whether Postgres refused a row because of the constraint or
// unique index of that name.
func violates(err error, constraint string) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.ConstraintName == constraint
}
