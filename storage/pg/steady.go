// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"database/sql"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// This file has what the queries share that run each second for as long as a process lives,
// and those that run for every check that is created and every incident. Bun would write
// their values into the SQL, which Postgres then parses and plans each time: several times
// what it takes to run them.

// Steady runs such a query, as a prepared statement of its connection. Behind a pooler only
// the types of its parameters are kept.
func (d *DB) Steady(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return d.Pool.Query(ctx, sql, slices.Concat([]any{d.SteadyMode()}, args)...)
}

// SteadyMode is how a connection runs a query that is repeated for good.
func (d *DB) SteadyMode() pgx.QueryExecMode {
	if d.Pooled() {
		return pgx.QueryExecModeCacheDescribe
	}
	return pgx.QueryExecModeCacheStatement
}

// SteadyRow scans the only row of such a query.
func (d *DB) SteadyRow(ctx context.Context, sql string, args []any, into ...any) error {
	return d.Pool.QueryRow(ctx, sql, slices.Concat([]any{d.SteadyMode()}, args)...).Scan(into...)
}

// SteadyRows collects the rows of such a query by the order of their columns.
func SteadyRows[T any](ctx context.Context, d *DB, sql string, args ...any) ([]T, error) {
	rows, err := d.Steady(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// SteadyIn runs such a query in a transaction of bun, or outside of one when db is the
// database, and reads its rows into a slice of structs.
func (d *DB) SteadyIn(ctx context.Context, db bun.IDB, into any, query string, args ...any) error {
	rows, err := d.handle(db).QueryContext(ctx, query, slices.Concat([]any{d.SteadyMode()}, args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if err := d.ScanRows(ctx, rows, into); err != nil {
		return err
	}
	return rows.Err()
}

// sqlHandle is a transaction or a database without bun.
type sqlHandle interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// handle returns the transaction of bun without bun, or the database.
func (d *DB) handle(db bun.IDB) sqlHandle {
	if tx, ok := db.(bun.Tx); ok {
		return tx.Tx
	}
	return d.DB.DB
}

// SteadyExec runs such a statement, which returns no rows, in a transaction of bun, or outside
// of one when db is the database.
func (d *DB) SteadyExec(ctx context.Context, db bun.IDB, query string, args ...any) error {
	_, err := d.handle(db).ExecContext(ctx, query, slices.Concat([]any{d.SteadyMode()}, args)...)
	return err
}

// SteadyOne is SteadyIn for one row; without it the error is sql.ErrNoRows.
func SteadyOne[T any](ctx context.Context, d *DB, db bun.IDB, query string, args ...any) (T, error) {
	var rows []T
	err := d.SteadyIn(ctx, db, &rows, query, args...)
	if err == nil && len(rows) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}

// ModelColumns are the columns of a model, of the table with an alias.
func ModelColumns[T any](d *DB, alias string) string {
	var list strings.Builder
	for i, field := range d.DB.Table(reflect.TypeFor[T]()).Fields {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(alias + "." + field.Name)
	}
	return list.String()
}

// AnyOf reports whether a query for one boolean finds true. A query that is written for
// many rows, with joins and an order, runs only after that.
func (d *DB) AnyOf(ctx context.Context, sql string, args ...any) (found bool, err error) {
	err = d.SteadyRow(ctx, sql, args, &found)
	return found, err
}
