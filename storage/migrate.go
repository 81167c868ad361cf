package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun/migrate"

	"vigil"
	"vigil/storage/migrations"
)

// migrationLock is the key of the advisory lock that serializes migrations. The lock of
// bun is a row, which a killed process would leave behind; an advisory lock ends with
// its connection.
const migrationLock = 0x7669_6769_6c00_0001

// Migrate applies all pending migrations and returns how many it applied. Several
// processes may call it at once: one migrates and the others wait.
func (s *Store) Migrate(ctx context.Context) (applied int, err error) {
	err = s.withMigrationLock(ctx, func(m *migrate.Migrator) error {
		group, err := m.Migrate(ctx)
		if err == nil {
			applied = len(group.Migrations)
		}
		return err
	})
	return applied, wrap("migrate the database", err)
}

// MigrateDown reverts the migrations of the last Migrate that applied any.
func (s *Store) MigrateDown(ctx context.Context) error {
	err := s.withMigrationLock(ctx, func(m *migrate.Migrator) error {
		_, err := m.Rollback(ctx)
		return err
	})
	return wrap("revert a migration", err)
}

// MigrateTo reverts the applied migrations after the named one, such as 0032, newest
// first, and returns the names of those that it reverted. What these migrations created is
// dropped with its data. An unknown name is an error.
func (s *Store) MigrateTo(ctx context.Context, name string) (reverted []string, err error) {
	err = s.withMigrationLock(ctx, func(m *migrate.Migrator) error {
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
	return reverted, wrap("migrate back", err)
}

// withMigrationLock runs fn while it holds the migration lock.
func (s *Store) withMigrationLock(ctx context.Context, fn func(*migrate.Migrator) error) (err error) {
	m, err := s.migrator()
	if err != nil {
		return err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("acquire a connection: %w", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return errors.Join(fmt.Errorf("wait for the migration lock: %w", err), conn.Conn().Close(context.WithoutCancel(ctx)))
	}
	defer func() {
		clean := context.WithoutCancel(ctx)
		if _, unlockErr := conn.Exec(clean, "SELECT pg_advisory_unlock($1)", int64(migrationLock)); unlockErr != nil {
			err = errors.Join(err, unlockErr, conn.Conn().Close(clean))
		}
	}()
	if err := m.Init(ctx); err != nil {
		return fmt.Errorf("create the migration tables: %w", err)
	}
	return fn(m)
}

func (s *Store) migrator() (*migrate.Migrator, error) {
	steps, err := migrations.All()
	if err != nil {
		return nil, err
	}
	return migrate.NewMigrator(s.db, steps, migrate.WithMarkAppliedOnSuccess(true)), nil
}

// Ready returns nil when Postgres answers and all migrations are applied, otherwise a
// CodeUnavailable error that says which of the two is missing.
func (s *Store) Ready(ctx context.Context) error {
	m, err := s.migrator()
	if err != nil {
		return err
	}
	if err := s.pool.Ping(ctx); err != nil {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database does not answer.", Cause: err}
	}
	steps, err := m.MigrationsWithStatus(ctx)
	if err != nil {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database has no schema yet.", Cause: err}
	}
	if n := len(steps.Unapplied()); n > 0 {
		return vigil.Errorf(vigil.CodeUnavailable, "The database lacks %d migrations.", n)
	}
	return nil
}
