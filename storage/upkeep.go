package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Retention says how long what is kept. A zero duration keeps for ever.
type Retention struct {
	Results    time.Duration // by slot, whole days
	Rollups    time.Duration // rollups and gaps
	Leases     time.Duration // of workers silent for so long
	Tombstones time.Duration // of loops that are known to have ended
	Events     time.Duration // the buffer of the alert stream
	Attempts   time.Duration // of deliveries; so long one can be sent again
}

// DefaultRetention keeps results 90 days, rollups 13 months, events 7 days,
// attempts 30 days, and leases of silent workers and tombstones a day, for
// whoever looks into what happened.
func DefaultRetention() Retention {
	const day = 24 * time.Hour
	return Retention{Results: 90 * day, Rollups: 396 * day, Leases: day, Tombstones: day, Events: 7 * day, Attempts: 30 * day}
}

// partitionsAhead is how many days of partitions are made in advance.
const partitionsAhead = 7

// upkeepLock keeps two processes from working on partitions at once, and
// upkeepPatience bounds how long that work may hold others up while it waits.
const (
	upkeepLock        = 0x7669_6769_6c00_0002
	upkeepLockTimeout = "3s"
)

const partitionPrefix = "results_p"

// EnsurePartitions makes the partitions of results from the day before now to 7
// days ahead, by UTC. Rows of those days that the default partition took in the
// meantime move over.
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
	var there bool
	if err := s.db.NewRaw("SELECT to_regclass(?) IS NOT NULL", string(name)).Scan(ctx, &there); err != nil || there {
		return wrap("look for a partition", err)
	}
	err := s.withUpkeepLock(ctx, func(ctx context.Context, tx bun.Tx) error {
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{"CREATE TABLE IF NOT EXISTS ? (LIKE results INCLUDING DEFAULTS INCLUDING CONSTRAINTS)", []any{name}},
			// The default partition may not hold rows of the day when the
			// new one is attached, nor get new ones until then.
			{"LOCK TABLE results_default IN ACCESS EXCLUSIVE MODE", nil},
			{"WITH moved AS (DELETE FROM results_default WHERE slot >= ? AND slot < ? RETURNING *) INSERT INTO ? SELECT * FROM moved", []any{from, to, name}},
			{"ALTER TABLE results ATTACH PARTITION ? FOR VALUES FROM (?) TO (?)", []any{name, from, to}},
		} {
			if _, err := tx.NewRaw(step.sql, step.args...).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if s.partitionExists(ctx, err, string(name)) {
		return nil // another process was faster
	}
	return wrap("make the partition "+string(name), err)
}

// partitionExists says whether an attempt failed only because the partition had
// been made in the meantime.
func (s *Store) partitionExists(ctx context.Context, err error, name string) bool {
	if err == nil {
		return false
	}
	var there bool
	lookErr := s.db.NewRaw("SELECT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass(?))", name).Scan(ctx, &there)
	return lookErr == nil && there
}

// withUpkeepLock runs fn as the only upkeep there is, in a transaction that gives up
// rather than keep results waiting behind its locks.
func (s *Store) withUpkeepLock(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw("SELECT set_config('lock_timeout', ?, true), pg_advisory_xact_lock(?)", upkeepLockTimeout, int64(upkeepLock)).Exec(ctx); err != nil {
			return fmt.Errorf("wait for other upkeep: %w", err)
		}
		return fn(ctx, tx)
	})
}

// DropExpired removes what is older than it must be kept. What fails is reported
// together at the end and is tried again the next time.
func (s *Store) DropExpired(ctx context.Context, now time.Time, keep Retention) error {
	var errs []error
	if keep.Results > 0 {
		errs = append(errs, s.dropPartitions(ctx, now.Add(-keep.Results)))
	}
	if keep.Events > 0 {
		errs = append(errs, s.dropEvents(ctx, now.Add(-keep.Events), now.Add(-max(keep.Events, keep.Attempts))))
	}
	for _, old := range []struct {
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
	} {
		if old.keep <= 0 {
			continue
		}
		_, err := s.db.NewRaw(old.sql, micro(now.Add(-old.keep))).Exec(ctx)
		errs = append(errs, wrap(old.what, err))
	}
	return errors.Join(errs...)
}

// dropPartitions drops the partitions whose every slot is before an instant.
func (s *Store) dropPartitions(ctx context.Context, before time.Time) error {
	var names []string
	err := s.db.NewRaw("SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'results'::regclass ORDER BY c.relname").Scan(ctx, &names)
	if err != nil {
		return wrap("list partitions", err)
	}
	var errs []error
	for _, name := range names {
		day, err := time.Parse("20060102", strings.TrimPrefix(name, partitionPrefix))
		if err != nil || day.AddDate(0, 0, 1).After(before) {
			continue // the default one, or still needed
		}
		err = s.withUpkeepLock(ctx, func(ctx context.Context, tx bun.Tx) error {
			_, err := tx.NewRaw("DROP TABLE IF EXISTS ?", bun.Ident(name)).Exec(ctx)
			return err
		})
		errs = append(errs, wrap("drop the partition "+name, err))
	}
	return errors.Join(errs...)
}
