// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// snapshots are that of the transaction and that of the cursor $1, and isAhead is the condition
// that the cursor is of another database: its snapshot is of the time to come.
const (
	snapshots = "(SELECT pg_current_snapshot() AS snapshot) AS now, (SELECT nullif($1, '')::pg_snapshot AS snapshot) AS last"
	isAhead   = "$1 <> '' AND pg_snapshot_xmax(last.snapshot) > pg_snapshot_xmax(now.snapshot)"
)

// committed is the condition that the transaction of a column had not committed at the last
// snapshot. The lower bound is what an index has. A transaction of the time to come is of
// another database, whose dump was loaded.
func committed(column, last, now string) string {
	return "(" + column + " >= pg_snapshot_xmin(" + last + ") AND " + column + " < pg_snapshot_xmax(" + now + ")" +
		" AND NOT pg_visible_in_snapshot(" + column + ", " + last + "))"
}

// changedSince is that condition for the snapshot of a cursor.
func changedSince(column, cursor string) schema.QueryWithArgs {
	return bun.SafeQuery(committed(column, "?0::pg_snapshot", "pg_current_snapshot()"), cursor)
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
