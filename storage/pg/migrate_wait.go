// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// All statements on a table queue behind a migration that waits for its lock. So the
// migration gives up after migrationLockTimeout, lets them pass and tries again.
const (
	migrationLockTimeout = 250 * time.Millisecond
	minMigrationWait     = 500 * time.Millisecond // between two tries; doubles
	maxMigrationWait     = 10 * time.Second
)

// patientMigrations runs migrations until they get their locks, and logs which sessions
// they wait for.
type patientMigrations struct {
	store *DB
	stop  func() // ends the log of the current try
}

// migrationRun runs one direction of a migration in a transaction.
type migrationRun = func(ctx context.Context, m *migrate.Migrator, step *migrate.Migration) error

// patientMigrator returns a migrator that waits for locks without blocking others.
func (d *DB) patientMigrator(db *bun.DB) (*migrate.Migrator, error) {
	steps, err := d.steps()
	if err != nil {
		return nil, err
	}
	p := &patientMigrations{store: d, stop: func() {}}
	patient := migrate.NewMigrations()
	for _, step := range steps.Sorted() {
		step.Up, step.Down = p.retry(step.Up), p.retry(step.Down)
		patient.Add(step)
	}
	return migrate.NewMigrator(db, patient, migrate.WithMarkAppliedOnSuccess(true), migrate.BeforeMigration(p.begin)), nil
}

// begin is called in the transaction of every try.
func (p *patientMigrations) begin(ctx context.Context, tx bun.IConn, step *migrate.Migration) error {
	p.store.Progress("migration " + step.String())
	limits := fmt.Sprintf("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = %d", Milliseconds(migrationLockTimeout))
	if _, err := tx.ExecContext(ctx, limits); err != nil {
		return fmt.Errorf("set the lock timeout: %w", err)
	}
	var pid int
	if err := tx.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return fmt.Errorf("read the process of the session: %w", err)
	}
	p.stop = p.store.logBlockers(ctx, step.String(), pid)
	return nil
}

func (p *patientMigrations) retry(run migrationRun) migrationRun {
	return func(ctx context.Context, m *migrate.Migrator, step *migrate.Migration) error {
		for wait := minMigrationWait; ; wait = min(2*wait, maxMigrationWait) {
			err := run(ctx, m, step)
			p.stop()
			p.stop = func() {}
			if !IsLockTimeout(err) {
				return err
			}
			p.store.Log.InfoContext(ctx, "migration did not get its locks and will be tried again", "migration", step.String(), "retry_in", wait)
			if err := timing.Sleep(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// blockerDelay is how long a session has to wait for others before they are logged, and
// blockerInterval how often they are logged again.
const (
	blockerDelay    = 100 * time.Millisecond
	blockerInterval = 10 * time.Second
)

// logBlockers logs the sessions whose locks a session waits for, until stop is called.
// It shows no SQL, which may contain secrets.
func (d *DB) logBlockers(ctx context.Context, waiting string, pid int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for every := blockerDelay; timing.Sleep(ctx, every) == nil; {
			var sessions []string
			err := d.NewRaw(`SELECT format('pid %s (%s, %s), %s, transaction since %s', pid, application_name,
					coalesce(host(client_addr), 'local'), state, to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
				FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids(?)) ORDER BY xact_start`, pid).Scan(ctx, &sessions)
			if err != nil || len(sessions) == 0 {
				continue
			}
			every = blockerInterval
			d.Log.WarnContext(ctx, "migration waits for other sessions", "migration", waiting, "pid", strconv.Itoa(pid), "sessions", sessions)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
