// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"

	"github.com/vigil-monitor/vigil"
)

// migrationLock is the key of the advisory lock that serializes migrations. The lock of
// bun is a row, which a killed process would leave behind; an advisory lock ends with
// its connection.
const migrationLock = 0x7669_6769_6c00_0001

// Migrate applies all pending migrations and returns how many it applied. Several
// processes may call it at once: one migrates and the others wait.
func (d *DB) Migrate(ctx context.Context) (applied int, err error) {
	err = d.withMigrationLock(ctx, func(m *migrate.Migrator) error {
		group, err := m.Migrate(ctx)
		if err == nil {
			applied = len(group.Migrations)
		}
		return err
	})
	return applied, Wrap("migrate the database", err)
}

// MigrateDown reverts the migrations of the last Migrate that applied any.
func (d *DB) MigrateDown(ctx context.Context) error {
	err := d.withMigrationLock(ctx, func(m *migrate.Migrator) error {
		_, err := m.Rollback(ctx)
		return err
	})
	return Wrap("revert a migration", err)
}

// MigrateTo reverts the applied migrations after the named one, such as 1002, newest
// first, and returns the names of those that it reverted. What these migrations created is
// dropped with its data. An unknown name is an error.
func (d *DB) MigrateTo(ctx context.Context, name string) (reverted []string, err error) {
	err = d.withMigrationLock(ctx, func(m *migrate.Migrator) error {
		steps, err := m.MigrationsWithStatus(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(steps, func(step migrate.Migration) bool { return step.Name == name }) {
			return fmt.Errorf("there is no migration %s", name)
		}
		applied := slices.DeleteFunc(slices.Clone(steps), func(step migrate.Migration) bool { return !step.IsApplied() || step.Name <= name })
		slices.SortFunc(applied, func(a, b migrate.Migration) int { return strings.Compare(b.Name, a.Name) })
		for i := range applied {
			step := &applied[i]
			if err := step.Down(ctx, m, step); err != nil {
				return fmt.Errorf("%s: down: %w", step, err)
			}
			if err := m.MarkUnapplied(ctx, step); err != nil {
				return fmt.Errorf("%s: record: %w", step, err)
			}
			reverted = append(reverted, step.String())
		}
		return nil
	})
	return reverted, Wrap("migrate back", err)
}

// withMigrationLock runs fn while it holds the migration lock. It uses connections of its
// own, whose statements may take as long as they need. A transaction holds the lock, so
// that migrations also work behind a transaction-pooling proxy.
func (d *DB) withMigrationLock(ctx context.Context, fn func(*migrate.Migrator) error) error {
	ctx = WithQueryLimit(ctx, MaintenanceLimit)
	pool, err := d.connector.pool(ctx, migrationConns, migrationLimits, pgx.QueryExecModeExec)
	if err != nil {
		return err
	}
	defer pool.Close()
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{BeginQuery: "BEGIN; " + migrationLimits.setLocal()})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // nothing was written in it
	}()
	if err := d.waitForMigrationLock(ctx, tx); err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	if err := refuseBeforeBaseline(ctx, tx); err != nil { // one that migrated meanwhile
		return err
	}
	db := bun.NewDB(stdlib.OpenDBFromPool(pool), pgdialect.New())
	m, err := d.patientMigrator(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if err := m.Init(ctx); err != nil {
		return errors.Join(fmt.Errorf("create the migration tables: %w", err), db.Close())
	}
	return errors.Join(fn(m), db.Close())
}

// waitForMigrationLock waits until no other process migrates.
func (d *DB) waitForMigrationLock(ctx context.Context, tx pgx.Tx) error {
	var pid int
	if err := tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	defer d.logBlockers(ctx, "lock of all migrations", pid)()
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock))
	return err
}

// migrationConns are the connection with the migration lock and the one that migrates.
const migrationConns = 2

// migrator returns a migrator that only says which migrations are applied.
func (d *DB) migrator() (*migrate.Migrator, error) {
	steps, err := d.steps()
	if err != nil {
		return nil, err
	}
	return migrate.NewMigrator(d.DB, steps, migrate.WithMarkAppliedOnSuccess(true)), nil
}

// Ready returns nil when Postgres answers and all migrations are applied, otherwise a
// CodeUnavailable error that says which of the two is missing. A database from before the
// baseline is a CodeConflict error.
func (d *DB) Ready(ctx context.Context) error {
	m, err := d.migrator()
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	if err := d.Pool.Ping(bounded); err != nil {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database does not answer.", Cause: err}
	}
	steps, err := m.MigrationsWithStatus(ctx)
	if err != nil {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database has no schema yet.", Cause: err}
	}
	if n := len(steps.Unapplied()); n > 0 {
		if err := refuseBeforeBaseline(bounded, d.Pool); err != nil {
			return err
		}
		return vigil.Errorf(vigil.CodeUnavailable, "The database lacks %d migrations.", n)
	}
	return nil
}
