// SPDX-License-Identifier: Apache-2.0

package storage

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

// steady runs such a query, as a prepared statement of its connection. Behind a pooler only
// the types of its parameters are kept.
func (s *Store) steady(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return s.pool.Query(ctx, sql, slices.Concat([]any{s.steadyMode()}, args)...)
}

// steadyMode is how a connection runs a query that is repeated for good.
func (s *Store) steadyMode() pgx.QueryExecMode {
	if s.Pooled() {
		return pgx.QueryExecModeCacheDescribe
	}
	return pgx.QueryExecModeCacheStatement
}

// steadyRow scans the only row of such a query.
func (s *Store) steadyRow(ctx context.Context, sql string, args []any, into ...any) error {
	return s.pool.QueryRow(ctx, sql, slices.Concat([]any{s.steadyMode()}, args)...).Scan(into...)
}

// steadyRows collects the rows of such a query by the order of their columns.
func steadyRows[T any](ctx context.Context, s *Store, sql string, args ...any) ([]T, error) {
	rows, err := s.steady(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// steadyIn runs such a query in a transaction of bun, or outside of one when db is the
// database, and reads its rows into a slice of structs.
func (s *Store) steadyIn(ctx context.Context, db bun.IDB, into any, query string, args ...any) error {
	rows, err := s.handle(db).QueryContext(ctx, query, slices.Concat([]any{s.steadyMode()}, args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if err := s.db.ScanRows(ctx, rows, into); err != nil {
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
func (s *Store) handle(db bun.IDB) sqlHandle {
	if tx, ok := db.(bun.Tx); ok {
		return tx.Tx
	}
	return s.db.DB
}

// steadyExec runs such a statement, which returns no rows, in a transaction of bun, or outside
// of one when db is the database.
func (s *Store) steadyExec(ctx context.Context, db bun.IDB, query string, args ...any) error {
	_, err := s.handle(db).ExecContext(ctx, query, slices.Concat([]any{s.steadyMode()}, args)...)
	return err
}

// steadyOne is steadyIn for one row; without it the error is sql.ErrNoRows.
func steadyOne[T any](ctx context.Context, s *Store, db bun.IDB, query string, args ...any) (T, error) {
	var rows []T
	err := s.steadyIn(ctx, db, &rows, query, args...)
	if err == nil && len(rows) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		var none T
		return none, err
	}
	return rows[0], nil
}

// modelColumns are the columns of a model, of the table with an alias.
func modelColumns[T any](s *Store, alias string) string {
	var list strings.Builder
	for i, field := range s.db.Table(reflect.TypeFor[T]()).Fields {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(alias + "." + field.Name)
	}
	return list.String()
}

// anyOf reports whether a query for one boolean finds true. A query that is written for
// many rows, with joins and an order, runs only after that.
func (s *Store) anyOf(ctx context.Context, sql string, args ...any) (found bool, err error) {
	err = s.steadyRow(ctx, sql, args, &found)
	return found, err
}
