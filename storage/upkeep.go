package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Retention is how long each kind of data is kept. Zero keeps it forever.
type Retention struct {
	Results    time.Duration // since the slot; deleted in whole days
	Rollups    time.Duration // of rollups and gaps
	Leases     time.Duration // since the last renewal
	Tombstones time.Duration // since the loop has ended
	Events     time.Duration // of the alert stream
	Attempts   time.Duration // of deliveries; a delivery can be repeated while they are kept
}

// DefaultRetention keeps results for 90 days, rollups for 13 months, events for 7 days
// and attempts for 30 days. It keeps expired leases and tombstones for a day, for
// investigations.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{Results: 90 * day, Rollups: 396 * day, Leases: day, Tombstones: day, Events: 7 * day, Attempts: 30 * day}
}

// partitionsAhead is how many days in advance partitions are created.
const partitionsAhead = 7

// upkeepLock is the key of the advisory lock that serializes work on partitions.
// upkeepLockTimeout is the lock_timeout of that work: other statements queue behind a
// lock that it waits for.
const (
	upkeepLock        = 0x7669_6769_6c00_0002
	upkeepLockTimeout = "3s"
)

const partitionPrefix = "results_p"

// EnsurePartitions creates the partitions of results from the day before now to 7 days
// after it (UTC). Rows of these days move from the default partition to the new ones.
func (s *Store) EnsurePartitions(ctx context.Context, now time.Time) error {
	today := now.UTC().Truncate(24 * time.Hour)
	var err error
	for d := -1; d <= partitionsAhead; d++ {
		err = errors.Join(err, s.ensurePartition(ctx, today.AddDate(0, 0, d)))
	}
	return err
}

func (s *Store) ensurePartition(ctx context.Context, day time.Time) error {
	name := bun.Ident(partitionPrefix + day.Format("20060102"))
	from, to := day, day.AddDate(0, 0, 1)
	var exists bool
	if err := s.db.NewRaw("SELECT to_regclass(?) IS NOT NULL", string(name)).Scan(ctx, &exists); err != nil || exists {
		return wrap("look for a partition", err)
	}
	err := s.withUpkeepLock(ctx, func(ctx context.Context, tx bun.Tx) error {
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
	if s.partitionExists(ctx, err, string(name)) {
		return nil // another process created it
	}
	return wrap("create the partition "+string(name), err)
}

// partitionExists reports whether an attempt failed although the partition is attached,
// because another process created it first.
func (s *Store) partitionExists(ctx context.Context, err error, name string) bool {
	if err == nil {
		return false
	}
	var exists bool
	queryErr := s.db.NewRaw("SELECT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(?))", name).Scan(ctx, &exists)
	return queryErr == nil && exists
}

// withUpkeepLock runs fn in a transaction that holds the upkeep lock. The transaction
// fails when it waits for a lock longer than upkeepLockTimeout, so that results are not
// delayed for longer.
func (s *Store) withUpkeepLock(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("SELECT set_config('lock_timeout', ?, true), pg_advisory_xact_lock(?)",
			upkeepLockTimeout, int64(upkeepLock)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("wait for the upkeep lock: %w", err)
		}
		return fn(ctx, tx)
	})
}

// DropExpired deletes the data whose retention is over. A step that fails does not stop
// the others: the returned error joins those of all steps, and the next call tries again.
func (s *Store) DropExpired(ctx context.Context, now time.Time, keep Retention) error {
	var errs []error
	if keep.Results > 0 {
		errs = append(errs, s.dropPartitions(ctx, now.Add(-keep.Results)))
	}
	if keep.Events > 0 {
		errs = append(errs, s.dropEvents(ctx, now.Add(-keep.Events), now.Add(-max(keep.Events, keep.Attempts))))
	}
	for _, expired := range []struct {
		what, sql string
		keep      time.Duration
	}{
		{"drop stray results", "DELETE FROM results_default WHERE slot < ?", keep.Results},
		{"drop rollups", "DELETE FROM result_rollups WHERE hour < ?", keep.Rollups},
		{"drop gaps", "DELETE FROM result_gaps WHERE last_slot < ?", keep.Rollups},
		{"drop edges", "DELETE FROM region_edges WHERE slot < ?", keep.Results},
		{"drop attempts", "DELETE FROM attempts WHERE started_at < ? AND finished_at IS NOT NULL", keep.Attempts},
		{"drop leases", "DELETE FROM worker_leases WHERE renewed_at < ?", keep.Leases},
		{"drop tombstones", "DELETE FROM loop_tombstones WHERE done_at < ?", keep.Tombstones},
		{"drop tokens", "DELETE FROM account_tokens WHERE expires_at < ?", time.Hour},
		{"drop failed logins", "DELETE FROM login_attempts WHERE last_at < ?", 2 * loginWindow},
		{"drop rate windows", "DELETE FROM rate_windows WHERE started < ?", time.Hour},
		{"drop running tests", "DELETE FROM running_tests WHERE ends < ?", time.Hour},
	} {
		if expired.keep <= 0 {
			continue
		}
		_, err := s.db.NewRaw(expired.sql, micro(now.Add(-expired.keep))).Exec(ctx)
		errs = append(errs, wrap(expired.what, err))
	}
	return errors.Join(errs...)
}

// dropPartitions drops the partitions whose slots are all before a time.
func (s *Store) dropPartitions(ctx context.Context, before time.Time) error {
	var names []string
	err := s.db.NewRaw(`SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'results'::regclass ORDER BY c.relname`).Scan(ctx, &names)
	if err != nil {
		return wrap("list partitions", err)
	}
	var errs []error
	for _, name := range names {
		day, err := time.Parse("20060102", strings.TrimPrefix(name, partitionPrefix))
		if err != nil || day.AddDate(0, 0, 1).After(before) {
			continue // the default partition, or one that is still needed
		}
		err = s.withUpkeepLock(ctx, func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.NewRaw("DROP TABLE IF EXISTS ?", bun.Ident(name)).Exec(ctx)
			return err
		})
		errs = append(errs, wrap("drop the partition "+name, err))
	}
	return errors.Join(errs...)
}
