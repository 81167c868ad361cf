// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/iancoleman/strcase"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"

	"github.com/vigil-monitor/vigil/internal/reload"
)

// connect opens a pool the way Temporal's own plugin does: columns are the field
// names in snake case, and a duration is a number of nanoseconds.
func connect(address *reload.Value[*pgx.ConnConfig], database string, conns int) (*sqlx.DB, error) {
	opens := orderedConnector{address, database}
	db := sqlx.NewDb(sql.OpenDB(opens), "pgx")
	if err := db.Ping(); err != nil { //nolint:noctx // as Temporal's own plugin does; the connection has its own limit
		_ = db.Close()
		return nil, unreachable(opens.config(context.Background()), err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(connIdle)
	db.SetConnMaxLifetime(time.Hour)
	db.MapperFunc(strcase.ToSnake)
	return db, nil
}

func registerDurations(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterDefaultPgType(time.Duration(0), "int8")
	conn.TypeMap().RegisterDefaultPgType((*time.Duration)(nil), "int8")
	return nil
}

// orderedConnector opens connections of a pool as orderedConns, by what the files of the address hold then.
type orderedConnector struct {
	address  *reload.Value[*pgx.ConnConfig]
	database string
}

func (c orderedConnector) config(ctx context.Context) *pgx.ConnConfig {
	config := c.address.Get(ctx).Copy()
	config.Database = c.database
	config.RuntimeParams["synchronous_commit"] = "off" // see orderedConn
	return config
}

// Connect opens a connection.
func (c orderedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := stdlib.GetConnector(*c.config(ctx), stdlib.OptionAfterConnect(registerDurations)).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return orderedConn{conn.(*stdlib.Conn)}, nil
}

// Driver is that of pgx.
func (orderedConnector) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

// orderedConn waits for the disk at the end of a transaction and not after a statement
// outside of one, of which each state transition has one before its transaction: the
// events of its history. No answer is lost by that: the log of Postgres is one sequence
// for all databases of a server, so that a transaction whose commit was awaited has
// everything before it on the disk too.
type orderedConn struct{ *stdlib.Conn }

const beginDurable = "begin; set local synchronous_commit = on"

// BeginTx begins a transaction. Temporal uses the default isolation only.
func (c orderedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts != (driver.TxOptions{}) {
		return c.Conn.BeginTx(ctx, opts)
	}
	if c.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	tx, err := c.Conn.Conn().BeginTx(ctx, pgx.TxOptions{BeginQuery: beginDurable})
	if err != nil {
		return nil, err
	}
	return durableTx{ctx, tx}, nil
}

// durableTx is a transaction whose commit waits for the disk.
type durableTx struct {
	ctx context.Context //nolint:containedctx // database/sql passes none to the end of a transaction
	tx  pgx.Tx
}

// Commit commits the transaction.
func (t durableTx) Commit() error { return t.tx.Commit(t.ctx) }

// Rollback aborts the transaction.
func (t durableTx) Rollback() error { return t.tx.Rollback(t.ctx) }
