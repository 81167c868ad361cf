package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"vigil"
)

const (
	// restoreQuiet is how long signs of a restored Postgres belong to the same restore:
	// each loop finds its own.
	restoreQuiet = 10 * time.Minute
	// streamJump and streamSkip are how far positions of the alert streams jump after a
	// restore, in time and in number. A clock of the new machine that is behind by less
	// repeats no position, and neither do fewer events than that. Fences skip as many.
	streamJump = time.Minute
	streamSkip = 1_000_000
)

// LastVote returns what is stored of the newest vote of a region.
func (s *Store) LastVote(ctx context.Context, checkID uuid.UUID, region string) (vigil.LastVote, error) {
	var last vigil.LastVote
	var began *time.Time
	err := s.steadyRow(ctx, `SELECT slot, firing <> '{}', CASE WHEN upper(turn) = slot THEN lower(turn) END
		FROM region_votes WHERE check_id = $1 AND region = $2`, []any{checkID, region}, &last.Slot, &last.Fires, &began)
	if isNoRow(err) {
		return vigil.LastVote{}, nil
	}
	last.Slot, last.TurnBegan = last.Slot.UTC(), zeroIfNil(began).UTC()
	return last, wrap("read the last vote", err)
}

// RaiseRevision makes the revision of a check newer than seen, unless it is, and returns
// it; 0 for an unknown check. Loops and catalogues follow the new revision as that of an
// edit. The first sign within ten minutes also prepares the rest, see Restored.
func (s *Store) RaiseRevision(ctx context.Context, checkID uuid.UUID, seen int64, why vigil.RestoreSign) (int64, error) {
	var revision int64
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		err := tx.NewRaw("SELECT revision FROM checks WHERE id = ? FOR NO KEY UPDATE", checkID).Scan(ctx, &revision)
		if isNoRow(err) || err == nil && revision > seen {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the revision: %w", err)
		}
		revision = seen + 1
		_, err = tx.NewRaw("UPDATE checks SET revision = ?, changed_at = clock_timestamp(), changed_xid = pg_current_xact_id() WHERE id = ?", revision, checkID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("store the revision: %w", err)
		}
		if _, err := lockLoops(ctx, tx, checkID); err != nil {
			return err
		}
		_, err = tx.NewRaw("UPDATE check_regions SET desired = ? WHERE check_id = ?", revision, checkID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("store the revision of the loops: %w", err)
		}
		return nil
	})
	if err == nil && revision > 0 {
		err = s.restored(ctx, why, restoreQuiet)
	}
	return revision, wrap("raise a revision", err)
}

// Restored prepares the platform after Postgres or Temporal was restored from a backup,
// by any tool: positions of the alert streams jump ahead, so that none repeats; every
// loop gets a new revision, so that it is started, or goes on from its rows; and what
// waits for the sweep is due at once. It may be repeated.
func (s *Store) Restored(ctx context.Context) error {
	return wrap("prepare the restored database", s.restored(ctx, vigil.RestoredByHand, 0))
}

// restored does so unless it was done since quiet.
func (s *Store) restored(ctx context.Context, why vigil.RestoreSign, quiet time.Duration) error {
	ctx = withQueryLimit(ctx, maintenanceLimit) // it changes every loop
	return s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewRaw("LOCK TABLE restores IN SHARE ROW EXCLUSIVE MODE").Exec(ctx); err != nil {
			return fmt.Errorf("lock the restores: %w", err)
		}
		stored, err := tx.NewRaw(`INSERT INTO restores (reason) SELECT ? WHERE NOT EXISTS (
				SELECT FROM restores WHERE at > clock_timestamp() - ? * interval '1 millisecond')`, string(why), milliseconds(quiet)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("record the restore: %w", err)
		}
		if n, err := stored.RowsAffected(); err != nil || n == 0 {
			return err
		}
		s.log.WarnContext(ctx, "a restore from a backup was found; all loops go on from their rows", "sign", why)
		return prepareRestored(ctx, tx)
	})
}

// prepareRestored locks rows in the order of edits and of the result writer.
func prepareRestored(ctx context.Context, tx bun.Tx) error {
	for _, step := range []struct {
		what, query string
		args        []any
	}{
		{"lock the checks", "SELECT FROM checks ORDER BY id FOR NO KEY UPDATE", nil},
		{"raise the revisions", "UPDATE checks SET revision = revision + 1, changed_at = clock_timestamp(), changed_xid = pg_current_xact_id()", nil},
		{"lock the loops", "SELECT FROM check_regions ORDER BY check_id, region FOR UPDATE", nil},
		{"have the loops applied", `UPDATE check_regions AS r SET desired = c.revision, applied = 0, nudged_at = NULL, nudge_wait_ms = 0
			FROM checks AS c WHERE c.id = r.check_id`, nil},
		{"have the incidents swept", "UPDATE incidents SET swept_at = 'epoch', sweep_wait_ms = 0 WHERE status <> 'resolved' OR latched", nil},
		{"have the deliveries swept", "UPDATE deliveries SET swept_at = 'epoch', sweep_wait_ms = 0 WHERE status = 'pending' OR redeliver", nil},
		// A worker may hold a fence that the restored sequence has yet to give.
		{"move the fences on", `SELECT setval(oid::regclass, nextval(oid::regclass) + ?)
			FROM pg_class WHERE relkind = 'S' AND oid = to_regclass('worker_lease_fences')`, []any{int64(streamSkip)}},
		{
			"move the streams on", `INSERT INTO stream_heads AS h (org_id, ms, seq)
			SELECT id, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + ?0, ?1 FROM organizations
			ON CONFLICT (org_id) DO UPDATE SET ms = greatest(h.ms + ?0, excluded.ms), seq = h.seq + ?1`,
			[]any{streamJump.Milliseconds(), int64(streamSkip)},
		},
	} {
		if _, err := tx.NewRaw(step.query, step.args...).Exec(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}
