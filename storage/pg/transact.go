// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// InTx runs fn in a transaction of the default isolation, read committed, and stores the
// audit entry of ctx in the same transaction.
func (d *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return d.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return d.RecordAudit(ctx, tx)
	})
}

// Transact runs fn in a transaction. Every transaction of bun begins here, so that each has
// the limits that a proxy would lose.
func (d *DB) Transact(ctx context.Context, opts *sql.TxOptions, fn func(ctx context.Context, tx bun.Tx) error) error {
	return d.RunInTx(ctx, opts, func(ctx context.Context, tx bun.Tx) error {
		if limits := d.LocalLimits(); limits != "" {
			if _, err := tx.ExecContext(ctx, limits); err != nil {
				return fmt.Errorf("set the limits of the transaction: %w", err)
			}
		}
		return fn(ctx, tx)
	})
}

// LockName takes the advisory lock of a name until the end of the transaction.
func LockName(ctx context.Context, tx bun.Tx, name string) error {
	_, err := tx.NewRaw("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", name).Exec(ctx)
	return err
}

// LocalLimits is the SQL that follows the BEGIN of an ordinary transaction, empty where the
// session has the limits.
func (d *DB) LocalLimits() string {
	if !d.Pooled() {
		return ""
	}
	return "; " + ordinaryLimits.setLocal()
}

// Instant is the current time of the store's clock, in the precision of Postgres.
func (d *DB) Instant() time.Time { return Micro(d.Now()) }

// Clock returns the current time of the database's clock, which stamps changes and
// leases.
func (d *DB) Clock(ctx context.Context) (time.Time, error) {
	now, err := Row[time.Time](ctx, d, "SELECT clock_timestamp()")
	return now.UTC(), Wrap("read the database's clock", err)
}

// ProbingLimits is the statement that sets the limits of a transaction with results, empty
// where the session has them.
func (d *DB) ProbingLimits() string {
	if !d.Pooled() {
		return ""
	}
	return probingLimits.SelectLocal()
}
