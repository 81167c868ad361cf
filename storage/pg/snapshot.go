// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// Snapshots are that of the transaction and that of the cursor $1, and IsAhead is the condition
// that the cursor is of another database: its snapshot is of the time to come.
const (
	Snapshots = "(SELECT pg_current_snapshot() AS snapshot) AS now, (SELECT nullif($1, '')::pg_snapshot AS snapshot) AS last"
	IsAhead   = "$1 <> '' AND pg_snapshot_xmax(last.snapshot) > pg_snapshot_xmax(now.snapshot)"
)

// Committed is the condition that the transaction of a column had not committed at the last
// snapshot. The lower bound is what an index has. A transaction of the time to come is of
// another database, whose dump was loaded.
func Committed(column, last, now string) string {
	return "(" + column + " >= pg_snapshot_xmin(" + last + ") AND " + column + " < pg_snapshot_xmax(" + now + ")" +
		" AND NOT pg_visible_in_snapshot(" + column + ", " + last + "))"
}

// ChangedSince is that condition for the snapshot of a cursor.
func ChangedSince(column, cursor string) schema.QueryWithArgs {
	return bun.SafeQuery(Committed(column, "?0::pg_snapshot", "pg_current_snapshot()"), cursor)
}

// Snapshot begins a transaction that reads one snapshot and writes nothing. Its end must be
// called; there is nothing to commit.
func (d *DB) Snapshot(ctx context.Context) (tx pgx.Tx, end func(), err error) {
	tx, err = d.Pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" + d.LocalLimits()})
	if err != nil {
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	return tx, func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }, nil
}
