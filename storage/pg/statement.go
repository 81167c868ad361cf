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
	"github.com/uptrace/bun/schema"
)

// This file is how statements of the hot path run: those that run each second for as long as a
// process lives, and those that run for every result, check and incident. Bun would write their
// values into the SQL, which Postgres then parses and plans each time: several times what it
// takes to run them.

// MaxNumbered is how many arguments a statement may have by their numbers ($1 of pgx, ? of Bun).
// One with more has them by their names, in Named.
const MaxNumbered = 4

// Named are the arguments of a statement by their names, which are @name in a statement for Rows,
// Row, Exec or a batch of pgx, and ?name in one for Bun. For pgx each name in the statement must
// be here, and each one here in the statement.
type Named map[string]any

var (
	_ pgx.QueryRewriter       = Named(nil)
	_ schema.NamedArgAppender = Named(nil)
)

// RewriteQuery numbers the arguments of a statement that pgx runs.
func (n Named) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, args []any) (string, []any, error) {
	return pgx.StrictNamedArgs(n).RewriteQuery(ctx, conn, sql, args)
}

// AppendNamedArg writes the value of an argument into a statement of Bun.
func (n Named) AppendNamedArg(gen schema.QueryGen, b []byte, name string) ([]byte, bool) {
	value, ok := n[name]
	if !ok {
		return b, false // Postgres refuses what is left
	}
	return gen.AppendQuery(b, "?0", value, nil), true // one value alone would be taken for names again
}

// Prepared is how a connection runs a statement of the hot path: prepared once for each connection.
// Behind a pooler only the types of its parameters are kept. It is the first argument of a query
// that streams its rows or has a connection of its own; Rows, Row and Exec add it themselves.
func (d *DB) Prepared() pgx.QueryExecMode {
	if d.Pooled() {
		return pgx.QueryExecModeCacheDescribe
	}
	return pgx.QueryExecModeCacheStatement
}

// A Runner is where a statement of the hot path runs: a DB, outside of any transaction, or what In
// returns, in one.
type Runner interface {
	runner() (d *DB, handle sqlHandle)
}

// In is the runner inside a transaction of Bun. With the database itself it is outside of one.
func (d *DB) In(db bun.IDB) Runner {
	if tx, ok := db.(bun.Tx); ok {
		return inTx{d, tx}
	}
	return d
}

type inTx struct {
	db *DB
	tx bun.Tx
}

// sqlHandle is a transaction or a database without Bun, which would write arguments into the SQL.
type sqlHandle interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (d *DB) runner() (*DB, sqlHandle)  { return d, d.DB.DB }
func (t inTx) runner() (*DB, sqlHandle) { return t.db, t.tx.Tx }

// Rows runs a query of the hot path and returns its rows. T is a struct with a field for each
// column, or one value.
func Rows[T any](ctx context.Context, in Runner, query string, args ...any) ([]T, error) {
	d, handle := in.runner()
	found, err := handle.QueryContext(ctx, query, slices.Concat([]any{d.Prepared()}, args)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	var rows []T
	if err := d.ScanRows(ctx, found, &rows); err != nil {
		return nil, err
	}
	return rows, found.Err()
}

// Row is Rows for one row; without it the error is sql.ErrNoRows.
func Row[T any](ctx context.Context, in Runner, query string, args ...any) (T, error) {
	rows, err := Rows[T](ctx, in, query, args...)
	if err == nil && len(rows) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}

// First is SQL for whether a table has rows with a condition, by the first entry of an index: rows is what follows FROM,
// without arguments of its own, such as "incidents WHERE status <> 'resolved' ORDER BY swept_at". What looks for work again and
// again looks so first: most of the time there is none, and a statement of several tables takes milliseconds to plan each time.
// The order is what has Postgres take the index, also where it expects many such rows; it would leave it out of an EXISTS.
func First(rows string) string { return "coalesce((SELECT true FROM " + rows + " LIMIT 1), false)" }

// Any reports whether a table has rows with a condition, as First says it.
func Any(ctx context.Context, in Runner, rows string) (bool, error) {
	found, err := Row[bool](ctx, in, "SELECT "+First(rows))
	return found, Wrap("look for rows of "+rows, err)
}

// Exec runs a statement of the hot path that returns no rows.
func Exec(ctx context.Context, in Runner, query string, args ...any) error {
	d, handle := in.runner()
	_, err := handle.ExecContext(ctx, query, slices.Concat([]any{d.Prepared()}, args)...)
	return err
}

// ModelColumns are the columns of a model, of the table with an alias.
func ModelColumns[T any](d *DB, alias string) string {
	var list strings.Builder
	for i, field := range d.Table(reflect.TypeFor[T]()).Fields {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(alias + "." + field.Name)
	}
	return list.String()
}
