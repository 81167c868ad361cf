// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	// streamJump and restoreSkip are how far positions of the alert streams jump after a
	// restore, in time and in number. A clock of the new machine that is behind by less
	// repeats no position, and neither do fewer events than that. Fences, epochs and revisions,
	// of which workers and loops may know newer ones, skip as many.
	streamJump  = time.Minute
	restoreSkip = 1_000_000
)

// Restored prepares the platform after Postgres or Temporal was restored from a backup,
// by any tool: positions of the alert streams jump ahead, so that none repeats; every
// loop gets a new revision, so that it is started, or compares its state with the rows; and what
// waits for the sweep is due at once. It may be repeated. It begins an epoch that Temporal has
// not seen, and expects no certain one of it.
func (s *Store) Restored(ctx context.Context) error {
	_, err := s.restored(ctx, fleet.RestoredByHand, func(ctx context.Context, tx bun.Tx) (bool, error) {
		return s.ChangeEpoch(ctx, tx, `UPDATE temporal_generation SET epoch = epoch + ?, epoch_floor = 0, epoch_at = clock_timestamp()`,
			int64(restoreSkip))
	})
	return pg.Wrap("prepare the restored database", err)
}

// restored does so in the epoch that begin begins, unless it begins none.
func (s *Store) restored(
	ctx context.Context,
	why fleet.RestoreSign,
	begin func(context.Context, bun.Tx) (bool, error),
) (done bool, err error) {
	ctx = pg.WithQueryLimit(ctx, pg.MaintenanceLimit) // it changes every loop
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if done, err = begin(ctx, tx); err != nil || !done {
			return err
		}
		if _, err := tx.NewRaw("INSERT INTO restores (reason) VALUES (?)", string(why)).Exec(ctx); err != nil {
			return fmt.Errorf("record the restore: %w", err)
		}
		s.db.Log.WarnContext(ctx, "a restore from a backup was found; all loops go on from their rows", "sign", why)
		return prepareRestored(ctx, tx)
	})
	return done, err
}

// prepareRestored locks rows in the order of edits and of the result writer.
func prepareRestored(ctx context.Context, tx bun.Tx) error {
	for _, step := range []struct {
		what, query string
		args        []any
	}{
		{"lock the checks", "SELECT FROM checks ORDER BY id FOR NO KEY UPDATE", nil},
		{"raise the revisions", `UPDATE checks SET revision = revision + ?, changed_at = clock_timestamp(),
			changed_xid = pg_current_xact_id(), restored = (SELECT epoch FROM temporal_generation)`, []any{int64(restoreSkip)}},
		{"lock the loops", "SELECT FROM check_regions ORDER BY check_id, region FOR UPDATE", nil},
		{"have the loops applied", `UPDATE check_regions AS r SET desired = c.revision, applied = 0, nudged_at = NULL, nudge_wait_ms = 0
			FROM checks AS c WHERE c.id = r.check_id`, nil},
		{"have the incidents swept", "UPDATE incidents SET swept_at = 'epoch', sweep_wait_ms = 0 WHERE status <> 'resolved' OR latched", nil},
		{"have the deliveries swept", "UPDATE deliveries SET swept_at = 'epoch', sweep_wait_ms = 0 WHERE status = 'pending' OR redeliver", nil},
		// A worker may hold a fence that the restored sequence has yet to give.
		{"move the fences on", `SELECT setval(oid::regclass, nextval(oid::regclass) + ?)
			FROM pg_class WHERE relkind = 'S' AND oid = to_regclass('worker_lease_fences')`, []any{int64(restoreSkip)}},
		{
			"move the streams on", `INSERT INTO stream_heads AS h (org_id, ms, seq)
			SELECT id, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + ?0, ?1 FROM organizations
			ON CONFLICT (org_id) DO UPDATE SET ms = greatest(h.ms + ?0, excluded.ms), seq = h.seq + ?1`,
			[]any{streamJump.Milliseconds(), int64(restoreSkip)},
		},
	} {
		if _, err := tx.NewRaw(step.query, step.args...).Exec(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// FoundRestore prepares the platform as Restored does, in an epoch that is newer than from and
// than known, which Temporal has. Nothing changes when the epoch is another one than from by
// now, or when the lease is of an older fence; changed is false then.
func (s *Store) FoundRestore(
	ctx context.Context, lease fleet.SweepLease, from fleet.Epoch, known int64, why fleet.RestoreSign,
) (changed bool, err error) {
	changed, err = s.restored(ctx, why, func(ctx context.Context, tx bun.Tx) (bool, error) {
		return s.ChangeEpoch(
			ctx,
			tx,
			`UPDATE temporal_generation SET epoch = greatest(epoch, ?0) + 1, epoch_floor = 0, epoch_at = clock_timestamp()
			WHERE epoch = ?1 AND epoch_floor = ?2 AND ?3`,
			known,
			from.Number,
			from.Floor,
			loops.Fenced(lease),
		)
	})
	return changed, pg.Wrap("prepare for a restored store", err)
}
