// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
)

// baseline is the first migration. Those of the versions before it have smaller names, and
// no step leads from their schema to this one.
const baseline = "1001"

// BeforeBaseline reports whether a schema, as Server.Schema and the manifest of a backup have
// it, is from before the baseline, so that this version can neither read nor migrate it.
func BeforeBaseline(schema string) bool { return schema != "" && schema < baseline }

// refuseBeforeBaseline returns a CodeConflict error for a database from before the baseline.
// It reads only, so that the version that made the database can go on with it.
func refuseBeforeBaseline(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) error {
	var name string
	var migrated, before bool
	if err := db.QueryRow(ctx, "SELECT current_database(), to_regclass('bun_migrations') IS NOT NULL").Scan(&name, &migrated); err != nil {
		return fmt.Errorf("look for the migrations of the database: %w", err)
	}
	if !migrated {
		return nil
	}
	const applied = `SELECT EXISTS (SELECT FROM bun_migrations WHERE name COLLATE "C" < $1)`
	if err := db.QueryRow(ctx, applied, baseline).Scan(&before); err != nil {
		return fmt.Errorf("read the migrations of the database: %w", err)
	}
	if before {
		return vigil.Errorf(vigil.CodeConflict, "The database %s is of a version from before the baseline and stays as it is: "+
			"save its definitions with `vigil export` of the version that made it, "+
			"then start this version with an empty database or data directory and load them with `vigil apply`.", name)
	}
	return nil
}
