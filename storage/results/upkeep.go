// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// partitionsAhead is how many days in advance partitions are created.
const partitionsAhead = 7

// upkeepLock is the key of the advisory lock that serializes work on partitions.
const upkeepLock = 0x7669_6769_6c00_0002

// Other statements queue behind a lock that work on partitions waits for, so it gives
// up after lockTimeout and tries again, upkeepTries times in about 6 s.
const (
	upkeepLockTimeout = 3 * time.Second // for other work on partitions
	lockTimeout       = 100 * time.Millisecond
	upkeepTries       = 8
	minUpkeepWait     = 50 * time.Millisecond // between two tries; doubles
	maxUpkeepWait     = 2 * time.Second
)

const partitionPrefix = "results_p"

// EnsurePartitions creates the partitions of results from the day before now to 7 days
// after it (UTC). Rows of these days move from the default partition to the new ones.
// When another transaction keeps results locked for 6 s, it returns a CodeUnavailable
// error: call it again.
//
// A database of results that has no schema yet gets it; one that is away is left for the next call.
func (s *Store) EnsurePartitions(ctx context.Context, now time.Time) error {
	errs := []error{s.homes.all[0].ensurePartitions(ctx, now)}
	for _, h := range s.homes.all[1:] {
		err := h.migrate(ctx)
		if err == nil {
			err = h.ensurePartitions(ctx, now)
		}
		errs = append(errs, h.unlessAway(ctx, err))
	}
	return errors.Join(errs...)
}

func (h *home) ensurePartitions(ctx context.Context, now time.Time) error {
	today := now.UTC().Truncate(24 * time.Hour)
	var errs []error
	for d := -1; d <= partitionsAhead; d++ {
		err := h.ensurePartition(ctx, today.AddDate(0, 0, d))
		errs = append(errs, err)
		if pg.IsLockTimeout(err) {
			break // the next one would wait for the same lock
		}
	}
	return errors.Join(errs...)
}

// ensurePartition creates the partition of a day, with the rows of that day that came before it.
func (h *home) ensurePartition(ctx context.Context, day time.Time) error {
	name := bun.Ident(partitionPrefix + day.Format("20060102"))
	from, to := day, day.AddDate(0, 0, 1)
	var exists bool
	if err := h.NewRaw("SELECT to_regclass(?) IS NOT NULL", string(name)).Scan(ctx, &exists); err != nil || exists {
		return pg.Wrap("look for a partition", err)
	}
	err := h.withUpkeepLock(ctx, func(ctx context.Context, tx bun.Tx) error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{"CREATE TABLE IF NOT EXISTS ? (LIKE results INCLUDING DEFAULTS INCLUDING CONSTRAINTS)", []any{name}},
			// Postgres refuses to attach the new partition while the default one
			// holds rows of that day, so it must not get new ones until then.
			{"LOCK TABLE results_default IN ACCESS EXCLUSIVE MODE", nil},
			{
				"WITH moved AS (DELETE FROM results_default WHERE slot >= ? AND slot < ? RETURNING *) INSERT INTO ? SELECT * FROM moved",
				[]any{from, to, name},
			},
			{"ALTER TABLE results ATTACH PARTITION ? FOR VALUES FROM (?) TO (?)", []any{name, from, to}},
		} {
			if _, err := tx.NewRaw(step.sql, step.args...).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if h.partitionExists(ctx, err, string(name)) {
		return nil // another process created it
	}
	return pg.Wrap("create the partition "+string(name), err)
}

// partitionExists reports whether an attempt failed although the partition is attached,
// because another process created it first.
func (h *home) partitionExists(ctx context.Context, err error, name string) bool {
	if err == nil {
		return false
	}
	var exists bool
	queryErr := h.NewRaw("SELECT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(?))", name).Scan(ctx, &exists)
	return queryErr == nil && exists
}

// withUpkeepLock runs fn in a transaction that holds the upkeep lock. When fn waits for a
// lock longer than lockTimeout, the transaction is rolled back and tried again, so that
// results are not delayed for longer.
func (h *home) withUpkeepLock(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	ctx, wait := pg.WithQueryLimit(ctx, pg.MaintenanceLimit), minUpkeepWait // rows of the default partition may be many
	for try := 1; ; try++ {
		err := h.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			for _, step := range []string{
				fmt.Sprintf("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = %d", pg.Milliseconds(upkeepLockTimeout)),
				fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", upkeepLock),
				fmt.Sprintf("SET LOCAL lock_timeout = %d", pg.Milliseconds(lockTimeout)),
			} {
				if _, err := tx.ExecContext(ctx, step); err != nil {
					return fmt.Errorf("wait for the upkeep lock: %w", err)
				}
			}
			return fn(ctx, tx)
		})
		if !pg.IsLockTimeout(err) || try == upkeepTries {
			return err
		}
		if err := timing.Sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, maxUpkeepWait)
	}
}

// DropPartitions drops the partitions whose slots are all before a time. Dropping one
// locks results for a moment, with everything that reads or writes them. DETACH
// CONCURRENTLY would not, but Postgres refuses it for a table with a default partition.
// So the lock is waited for shortly, and a partition remains for the next call while a
// long transaction, such as a backup, uses the table.
func (s *Store) DropPartitions(ctx context.Context, before time.Time) error {
	return s.homes.each(ctx, func(h *home) error { return h.dropPartitions(ctx, before) })
}

func (h *home) dropPartitions(ctx context.Context, before time.Time) error {
	var names []string
	err := h.NewRaw(`SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'results'::regclass ORDER BY c.relname`).Scan(ctx, &names)
	if err != nil {
		return pg.Wrap("list partitions", err)
	}
	var errs []error
	for _, name := range names {
		day, err := time.Parse("20060102", strings.TrimPrefix(name, partitionPrefix))
		if err != nil || day.AddDate(0, 0, 1).After(before) {
			continue // the default partition, or one that is still needed
		}
		err = h.withUpkeepLock(ctx, func(ctx context.Context, tx bun.Tx) error {
			// Postgres deletes the files after the commit, when the locks are free.
			_, err := tx.NewRaw("DROP TABLE IF EXISTS ?", bun.Ident(name)).Exec(ctx)
			return err
		})
		if pg.IsLockTimeout(err) {
			h.Log.InfoContext(ctx, "expired results remain for the next housekeeping, their table is in use", "partition", name, "error", err)
			break
		}
		errs = append(errs, pg.Wrap("drop the partition "+name, err))
	}
	return errors.Join(errs...)
}
