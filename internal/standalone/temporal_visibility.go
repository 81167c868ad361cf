// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// emptyIndexes are the indexes that still have an entry for each workflow whose column is
// empty, with their definitions and columns. The column is the second of its index, behind
// the namespace; most are those of search attributes.
const emptyIndexes = `
	SELECT name.relname, pg_get_indexdef(i.indexrelid), a.attname
	FROM pg_index AS i
		JOIN pg_class AS name ON name.oid = i.indexrelid
		JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[1]
	WHERE i.indrelid = to_regclass('executions_visibility') AND i.indpred IS NULL AND NOT i.indisunique AND NOT a.attnotnull
	ORDER BY 1`

// dropEmptyEntries makes indexes leave out the workflows whose column is empty. Of the 74
// in Temporal's schema, 65 are of columns that may be empty, most of them for search
// attributes that are never set, and a workflow had an entry in each: 24 KB on the disk for
// a workflow instead of 5. A search for a value finds all of its workflows as before. The
// indexes keep their names, which later migrations of Temporal may use.
func dropEmptyEntries(ctx context.Context, dsn, database string) error {
	parsed, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	parsed.Database = database
	conn, err := pgx.ConnectConfig(ctx, parsed)
	if err != nil {
		return unreachable(parsed, err)
	}
	defer closeConn(ctx, conn)
	rows, err := conn.Query(ctx, emptyIndexes)
	if err != nil {
		return fmt.Errorf("list the indexes of the database %q: %w", database, err)
	}
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Name, Definition, Column string }])
	if err != nil {
		return fmt.Errorf("list the indexes of the database %q: %w", database, err)
	}
	for _, index := range indexes {
		_, err := conn.Exec(ctx, fmt.Sprintf("BEGIN; DROP INDEX %s; %s WHERE %s IS NOT NULL; COMMIT",
			pgx.Identifier{index.Name}.Sanitize(), index.Definition, pgx.Identifier{index.Column}.Sanitize()))
		if err != nil {
			return fmt.Errorf("rebuild the index %q of the database %q: %w", index.Name, database, err)
		}
	}
	return nil
}
