// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// inTx runs fn in a transaction of the default isolation, read committed, and stores the
// audit entry of ctx in the same transaction.
func (s *Store) inTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return s.recordAudit(ctx, tx)
	})
}

// transact runs fn in a transaction. Every transaction of bun begins here, so that each has
// the limits that a proxy would lose.
func (s *Store) transact(ctx context.Context, opts *sql.TxOptions, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.db.RunInTx(ctx, opts, func(ctx context.Context, tx bun.Tx) error {
		if limits := s.localLimits(); limits != "" {
			if _, err := tx.ExecContext(ctx, limits); err != nil {
				return fmt.Errorf("set the limits of the transaction: %w", err)
			}
		}
		return fn(ctx, tx)
	})
}

// lockName takes the advisory lock of a name until the end of the transaction.
func lockName(ctx context.Context, tx bun.Tx, name string) error {
	_, err := tx.NewRaw("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", name).Exec(ctx)
	return err
}

// localLimits is the SQL that follows the BEGIN of an ordinary transaction, empty where the
// session has the limits.
func (s *Store) localLimits() string {
	if !s.Pooled() {
		return ""
	}
	return "; " + ordinaryLimits.setLocal()
}

// instant is the current time of the store's clock, in the precision of Postgres.
func (s *Store) instant() time.Time { return micro(s.now()) }

// Clock returns the current time of the database's clock, which stamps changes and
// leases.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.steadyRow(ctx, "SELECT clock_timestamp()", nil, &now)
	return now, wrap("read the database's clock", err)
}

// probingLimits is the statement that sets the limits of a transaction with results, empty
// where the session has them.
func (s *Store) probingLimits() string {
	if !s.Pooled() {
		return ""
	}
	return probingLimits.selectLocal()
}
