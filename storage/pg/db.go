// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"

	"github.com/vigil-monitor/vigil/storage/migrations"
)

const (
	defaultMaxConns = 16
	// questionPatience is how long a question whether a database answers waits for its connection.
	questionPatience = 2 * time.Second
)

// Options of a DB.
type Options struct {
	// Pooler says whether a transaction-pooling proxy is in front of Postgres; the empty
	// one means PoolerAuto.
	Pooler Pooler
	// MaxConns limits the connections to Postgres, up to 1,000; 0 means 16. Results use up
	// to four more, leases one, and a migration two.
	MaxConns int
	// Now is the clock of schedules; nil means time.Now.
	Now func() time.Time
	// Progress is called with what a migration is at, such as "migration 1002"; nil discards
	// it.
	Progress func(what string)
	// Log receives background errors; nil discards them.
	Log *slog.Logger
	// Copy: the database is a copy, see Follow. All of its connections lead to one server.
	Copy bool
	// Results: the database keeps results alone, and has the migrations of such a one.
	Results bool
	// MayBeAway: the database need not answer when it is opened, and one that does not counts as behind a pooler.
	MayBeAway bool
}

// DB is the database with its connections, for all rooms of the storage. It is safe for
// concurrent use.
type DB struct {
	// DB builds and runs queries on the connections of Pool. Bun writes values into its SQL, so
	// that a prepared statement would serve one query: each is one round trip without a name.
	*bun.DB

	Pool *pgxpool.Pool
	// Probing has the connections reserved for results; it opens them on first use.
	Probing  *pgxpool.Pool
	Now      func() time.Time
	Progress func(what string)
	Log      *slog.Logger

	steps     func() (*migrate.Migrations, error)
	connector *connector
	leases    *loneConn
	questions *loneConn // see Answers
}

// Open connects to Postgres and checks that it answers and is version 15 or newer. A database
// from before the baseline is a CodeConflict error. dsn is a URL or a keyword string, as libpq
// takes it.
func Open(ctx context.Context, dsn string, opts Options) (*DB, error) {
	d := &DB{Now: opts.Now, Progress: opts.Progress, Log: opts.Log, steps: migrations.All}
	if opts.Results {
		d.steps = migrations.Results
	}
	if d.Now == nil {
		d.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Progress == nil {
		d.Progress = func(string) {}
	}
	conns := min(max(opts.MaxConns, 0), 1000)
	if conns == 0 {
		conns = defaultMaxConns
	}
	var err error
	if d.connector, err = newConnector(dsn, d.Log); err != nil {
		return nil, err
	}
	if err = d.connector.inspect(ctx, opts.Pooler); err != nil {
		if !opts.MayBeAway || !Retryable(err) {
			return nil, err
		}
		d.connector.pooled = opts.Pooler != PoolerNone
		d.Log.WarnContext(ctx, "a database does not answer: until the next start it counts as behind a pooler",
			"host", d.connector.config.ConnConfig.Host, "database", d.connector.config.ConnConfig.Database, "error", err)
	}
	if opts.Copy {
		d.connector.only = &oneServer{}
	}
	if d.Pool, err = d.connector.pool(ctx, conns, ordinaryLimits, pgx.QueryExecModeExec); err != nil {
		return nil, err
	}
	if d.Probing, err = d.connector.pool(ctx, ProbingConns, probingLimits, pgx.QueryExecModeCacheStatement); err != nil {
		d.Pool.Close()
		return nil, err
	}
	d.leases = &loneConn{connect: d.connector.connect}
	d.questions = &loneConn{connect: d.connector.connect, patience: questionPatience}
	d.DB = bun.NewDB(stdlib.OpenDBFromPool(d.Pool), pgdialect.New(), bun.WithDiscardUnknownColumns())
	return d, nil
}

// Answers asks the database whether it is there, on a connection beside those of the pools, and returns why it does not say so
// within a time.
//
// The connection may take longer, and is there for a later question then: a database that is far away needs a second for it.
func (d *DB) Answers(ctx context.Context, within time.Duration) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return d.questions.use(bounded, func(conn *pgx.Conn) error { return conn.Ping(bounded) })
}

// Close closes all connections. The database cannot be used afterwards.
func (d *DB) Close() error {
	err := d.DB.Close()
	d.Pool.Close()
	d.Probing.Close()
	d.leases.close()
	d.questions.close()
	if err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
